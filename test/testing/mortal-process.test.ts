/** A process that was killed is gone: it reads nothing, writes nothing, and is woken by nothing. */
import { saga } from "amends";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { Ground } from "../../src/testing/prove/ground.ts";
import { MortalProcess } from "../../src/testing/prove/mortal-process.ts";

const order = saga("order", z.object({})).step("one", { act: () => 1 });
let ground: Ground | undefined;

afterEach(async () => {
  await ground?.close();
  ground = undefined;
});

async function born(): Promise<{ ground: Ground; process: MortalProcess }> {
  const made = (ground = await Ground.open());
  const around = { database: made.database, clock: made.clock, leaseMs: 60_000 };
  return { ground: made, process: new MortalProcess(around, () => order) };
}

/** Whether a promise has settled, after everything had time to. */
async function settles({ clock }: Ground, work: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const end = (): void => void (isSettled = true);
  void work.then(end, end);
  await clock.advance(0);
  return isSettled;
}

it("[T-02] what a dead process asks of its database is neither done nor answered", async () => {
  const { ground: around, process } = await born();
  await process.amends.start(order, {}, { id: "alive" });
  process.kill();
  expect(process.isAlive).toBe(false);
  expect(await settles(around, process.amends.start(order, {}, { id: "dead" }))).toBe(false);
  expect(await settles(around, process.amends.inspect("alive"))).toBe(false);
  expect(await around.journal.load("alive")).toBeDefined();
  expect(await around.journal.load("dead")).toBeUndefined();
});

it("[T-02] a transaction that a process has open when it dies is rolled back, and holds nobody up", async () => {
  const { ground: around, process } = await born();
  around.handle.exec("create table notes (n integer)");
  const { database } = process.amends.context;
  const write = database.transaction(async (session) => {
    await session.query(sql`insert into notes values (1)`);
    process.kill();
    await session.query(sql`insert into notes values (2)`);
  });
  expect(await settles(around, write)).toBe(false);
  expect(await around.database.query(sql`select n from notes`)).toEqual([]);
});

it("[T-02] a process that dies once something is written has written that, and nothing after it", async () => {
  const { ground: around, process } = await born();
  process.killWhenWritten();
  expect(await settles(around, process.amends.start(order, {}, { id: "last" }))).toBe(false);
  expect(process.isAlive).toBe(false);
  expect(await around.journal.load("last")).toBeDefined();
});

it("[T-02] no alarm wakes a dead process, neither one that it has set nor one that it sets", async () => {
  const { ground: around, process } = await born();
  const { clock } = process.amends.context;
  const rung: string[] = [];
  clock.after(10, () => rung.push("alive"));
  await around.clock.advance(10);
  clock.after(10, () => rung.push("set before"));
  process.kill();
  clock.after(10, () => rung.push("set after"));
  await around.clock.advance(60);
  expect(rung).toEqual(["alive"]);
});
