import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { OutcomeWriter } from "../../src/runtime/outcome-writer.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { faulty, withCode } from "../storage/support/faults.ts";

interface Written {
  readonly writer: OutcomeWriter<number, string>;
  /** The groups that were written, in their order. */
  readonly groups: readonly (readonly number[])[];
}

function writerOn(db: Database, options: { readonly signal?: AbortSignal } = {}): Written {
  const groups: (readonly number[])[] = [];
  const writer = new OutcomeWriter<number, string>({
    db,
    ...options,
    bytes: () => 1,
    failFast: (n) => n < 0,
    write: async (numbers) => {
      const rows = numbers.map((n) => sql`insert into notes (n) values (${n}) on conflict do nothing`);
      await db.batch(rows);
      groups.push(numbers);
      return numbers.map((n) => `wrote ${n}`);
    },
  });
  return { writer, groups };
}

onEachDatabase((database) => {
  const transient = database.name === "postgres" ? "57P01" : "SQLITE_BUSY";
  const open = async (): Promise<Database> => {
    const db = await database.open();
    await db.query(raw("create table notes (n integer primary key)"));
    return db;
  };

  it("[K-17] outcomes of one turn share a commit, and each gets its own answer", async () => {
    const { writer, groups } = writerOn(await open());
    expect(await Promise.all([1, 2, 3].map((n) => writer.submit(n)))).toEqual([
      "wrote 1",
      "wrote 2",
      "wrote 3",
    ]);
    expect(groups).toEqual([[1, 2, 3]]);
    expect(writer.flushes).toBe(1);
    await writer.drained();
  });

  it("[K-12] an outcome whose commit went unanswered, and other work, are repeated until they are done", async () => {
    const real = await open();
    const faults = faulty(real);
    const { writer } = writerOn(faults.db);
    faults.plan(1, 2, "after", withCode(transient));
    expect(await writer.submit(7)).toBe("wrote 7");
    faults.plan(1, 2, "before", withCode(transient));
    expect(await writer.query(raw("select n from notes"))).toEqual([{ n: 7 }]);
    expect(faults.fired()).toBe(4);
  });

  it("[K-12] an outcome that somebody waits for reports an outage; others wait until they may no longer", async () => {
    const real = await open();
    const faults = faulty(real);
    const over = new AbortController();
    const { writer } = writerOn(faults.db, { signal: over.signal });
    faults.plan(1, 1_000, "before", withCode(transient));
    const waiting = writer.submit(1);
    const told = writer.submit(-1);
    over.abort();
    await expect(told).rejects.toMatchObject({ code: "DATABASE_UNREACHABLE" });
    await expect(waiting).rejects.toMatchObject({ code: "DATABASE_UNREACHABLE" });
    await expect(writer.persist(() => faults.db.query(raw("select 1")))).rejects.toMatchObject({
      code: "DATABASE_UNREACHABLE",
    });
    await writer.drained();
    expect(await real.query(raw("select n from notes"))).toEqual([]);
  });

  it("[K-18] while outcomes wait for a database that is away, the writer is not drained", async () => {
    const clock = virtualClock();
    const real = await database.open({ clock });
    await real.query(raw("create table notes (n integer primary key)"));
    const faults = faulty(real);
    const { writer } = writerOn(faults.db);
    faults.plan(1, 1_000, "before", withCode(transient));
    let isWritten = false;
    let isDrained = false;
    const written = writer.submit(1).then(() => void (isWritten = true));
    const drained = writer.drained().then(() => void (isDrained = true));
    // Far beyond the tries of one flush: the outcome has been set aside, more than once.
    for (let second = 0; second < 60; second++) await clock.advance(1_000);
    expect(faults.fired()).toBeGreaterThan(8);
    expect([isWritten, isDrained]).toEqual([false, false]);
    faults.plan(1, 0, "before", withCode(transient));
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return isWritten;
      })
      .toBe(true);
    await Promise.all([written, drained]);
    expect(await real.query(raw("select n from notes"))).toEqual([{ n: 1 }]);
  });

  it("[K-17] a crowd is divided among two commits where the database has several writers, and nowhere else", async () => {
    const db = await open();
    const { writer, groups } = writerOn(db);
    const numbers = Array.from({ length: 600 }, (_, n) => n);
    await Promise.all(numbers.map((n) => writer.submit(n)));
    expect(groups.map((group) => group.length)).toEqual(database.name === "postgres" ? [300, 300] : [600]);
    expect(groups.flat().toSorted((a, b) => a - b)).toEqual(numbers);
  });
});
