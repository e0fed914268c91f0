import { err } from "amends";
import { AuditTrail, DatabaseAuditSink, verifyAuditChain } from "amends/audit";
import { defineCall } from "amends/calls";
import { Outbox } from "amends/erasure";
import { expect, it } from "vitest";
import { z } from "zod";
import { listActions } from "../../src/audit/action-queries.ts";
import { toAction } from "../../src/audit/rows.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock, type TestDatabase } from "../support/databases.ts";
import { faulty, withCode, type When } from "../storage/support/faults.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, shop } from "./support/shop.ts";
import { eraser, verifier } from "./support/systems.ts";

const CODES: Readonly<Record<TestDatabase["name"], readonly string[]>> = {
  postgres: ["40001", "40P01", "57P01", "53300", "55P03", "ECONNRESET"],
  sqlite: ["SQLITE_BUSY"],
};

/** Only a lost connection leaves a commit in doubt; every other error says that nothing was committed. */
const IN_DOUBT: ReadonlySet<string> = new Set(["57P01", "ECONNRESET"]);

function faultsOf(name: TestDatabase["name"]): readonly (readonly [code: string, when: When])[] {
  return CODES[name].flatMap((code) => [
    [code, "before"] as const,
    ...(IN_DOUBT.has(code) ? [[code, "after"] as const] : []),
  ]);
}

/** Moves time on until the work has ended: whoever waits for the database waits on this clock. */
async function patiently<T>(clock: ReturnType<typeof virtualClock>, work: Promise<T>): Promise<T> {
  let isOver = false;
  const ended = work.finally(() => (isOver = true));
  ended.catch(() => undefined);
  while (!isOver) await clock.advance(1_000);
  return ended;
}

onEachDatabase((database) => {
  it.each(faultsOf(database.name))(
    "[K-12] %s %s any operation of a batch is repeated, never recorded, and nothing is audited twice",
    async (code, when: When) => {
      let fired = 0;
      for (let operation = 1; operation <= 9; operation++) {
        const clock = virtualClock();
        const faults = faulty(await database.open({ clock }));
        const world = await shop(database, { database: faults.db });
        const subject = `u-${operation}`;
        await world.enqueue(erase(subject, "a"), erase(subject, "b"));
        const resolvers = [eraser("a"), verifier("b", () => true)];
        const runner = runnerOn(world, resolvers);
        faults.plan(operation, 1, when, withCode(code));
        // A claim whose answer was lost is taken up again when its lease is over.
        for (let round = 0; round < 4; round++) {
          await patiently(clock, runner.runOnce());
          await clock.advance(300_000);
        }
        fired += faults.fired();
        faults.plan(1, 0, "before", withCode("none"));
        expect((await world.trail(subject)).toSorted()).toEqual([
          "ERASURE_COMPLETED",
          "ERASURE_EXTERNAL_VERIFIED",
          "ERASURE_STEP_SUCCEEDED",
          "ERASURE_STEP_SUCCEEDED",
        ]);
        const rows = (await world.rows()).filter((row) => row["subject_id"] === subject);
        expect(rows.map((row) => row["status"])).toEqual(["succeeded", "succeeded"]);
      }
      // The claim, the settles, the later claims: each was hit in its turn.
      expect(fired).toBeGreaterThanOrEqual(5);
    },
    60_000,
  );

  it("[K-12] a requeue whose answer was lost answers as if it had not been", async () => {
    const clock = virtualClock();
    const real = await shop(database, { clock });
    const [id] = (await real.enqueue(erase("u-1"))) as [string];
    const [entry] = await real.outbox.claimBatch();
    await real.outbox.markAbandoned(entry as never, { error: "No" });
    const faults = faulty(await database.open({ clock }));
    const outbox = new Outbox(faults.db, { audit: new DatabaseAuditSink(faults.db) });
    faults.plan(1, 1, "after", withCode(database.name === "postgres" ? "ECONNRESET" : "SQLITE_BUSY"));
    const flipped = await patiently(clock, outbox.requeue([id]));
    expect(faults.fired()).toBe(1);
    expect(flipped.map(({ entryId }) => entryId)).toEqual([id]);
    expect((await real.trail()).filter((type) => type === "ERASURE_REQUEUED")).toHaveLength(1);
  });

  it("[K-12] [P-02] a requeue of calls whose answer was lost answers as if it had not been, and is on record once", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const mail = defineCall("send-mail", { schema: z.object({}), handle: () => err("refused") });
    const { calls: real } = await database.amends({ database: db, calls: [mail] });
    const { entryId: id } = await real.enqueue(mail, {});
    await real.runOnce();
    const faults = faulty(await database.open({ clock }));
    const { calls } = await database.amends({ database: faults.db, calls: [mail] });
    faults.plan(1, 1, "after", withCode(database.name === "postgres" ? "ECONNRESET" : "SQLITE_BUSY"));
    expect(await patiently(clock, calls.requeue([id], { reason: "again" }))).toEqual([id]);
    expect(faults.fired()).toBe(1);
    const rows = await db.query(listActions(db.dialect, { limit: 10 }));
    expect(rows.map(toAction)).toMatchObject([{ by: "unknown", outcome: "done", target: { id } }]);
  });

  it("[K-12] a call whose commit was in doubt is enqueued once, with or without an id", async () => {
    const clock = virtualClock();
    const faults = faulty(await database.open({ clock }));
    const mail = defineCall("send-mail", { schema: z.object({}), handle: () => undefined });
    const { calls } = await database.amends({ database: faults.db, calls: [mail] });
    for (const options of [{}, { id: "once" }]) {
      faults.plan(1, 1, "after", withCode(database.name === "postgres" ? "ECONNRESET" : "SQLITE_BUSY"));
      const queued = await patiently(clock, calls.enqueue(mail, {}, options));
      expect(queued.created).toBe(true);
    }
    expect(faults.fired()).toBe(2);
    const { dialect } = faults.db;
    expect(await faults.db.query(sql`select entry_id from ${dialect.table("outbox")}`)).toHaveLength(2);
  });

  it("[K-12] [E-09] an event whose commit was in doubt is on record once, chained or not", async () => {
    const key = "a key of at least thirty-two bytes, kept elsewhere";
    for (const chain of [undefined, { key }]) {
      const clock = virtualClock();
      const faults = faulty(await database.open({ clock }));
      const audit = new DatabaseAuditSink(faults.db, { ...(chain && { chain }) });
      const subjectId = chain ? "chained" : "plain";
      faults.plan(1, 1, "after", withCode(database.name === "postgres" ? "ECONNRESET" : "SQLITE_BUSY"));
      await patiently(clock, audit.append([{ type: "ERASURE_FAILED", subjectId, payload: {} }]));
      expect(faults.fired()).toBe(1);
      expect((await new AuditTrail(faults.db).list({ subjectId })).events).toHaveLength(1);
      expect(await verifyAuditChain(faults.db, { key })).toEqual({ ok: true, links: chain ? 1 : 0 });
    }
  });
});
