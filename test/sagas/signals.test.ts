import { AmendsError, saga, signal, type Amends } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { transactionOn } from "./support/effects-table.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";
import { watched } from "./support/watched.ts";

const nothing = z.object({});
const DAY_MS = 86_400_000;
const approved = signal("approved", z.object({ by: z.string() }));
const paid = signal("paid", z.object({ cents: z.number().int() }));

/** Waits for an approval for three days, then ships. */
function order(log: string[] = []) {
  return saga("order", nothing)
    .step("reserve", { act: () => log.push("reserve"), compensate: () => void log.push("release") })
    .waitFor("approval", { signal: approved, timeout: "3d" })
    .step("ship", { act: ({ results }) => log.push(`ship for ${results.approval.by}`) });
}

const code = (error: unknown): unknown => (error instanceof AmendsError ? error.code : error);

async function signalsOf(database: TestDatabase, id: string): Promise<readonly unknown[]> {
  const { db } = await onlooker(database);
  const rows = await db.query(
    sql`select name, payload from ${db.dialect.table("saga_signals")} where saga_id = ${id} order by number`,
  );
  return rows.map((row) => `${String(row["name"])} ${String(row["payload"])}`);
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-25] a signal wakes the saga that waits for it, and its payload is the step's result", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const saga1 = order(log);
    const amends = await database.amends({ sagas: [saga1], clock });
    const run = await amends.start(saga1, {});
    await amends.worker().runOnce();
    const look = await onlooker(database);
    expect(await look.row(run.id)).toMatchObject({ owner: null, awaits: "approved", signals: 0 });
    expect(await amends.worker().runOnce()).toBe(0);
    expect(await amends.signal(run.id, approved, { by: "ann" })).toBe(true);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { approval: { by: "ann" } } });
    expect(log).toEqual(["reserve", "ship for ann"]);
  });

  it("[S-25][P-01] a worker that runs is woken by a signal, without waiting for its next look", async () => {
    const waiting = order();
    const amends = await database.amends({ sagas: [waiting] });
    await database.worker(amends, { poll: "1h" });
    const run = await amends.start(waiting, {});
    const look = await onlooker(database);
    await expect.poll(async () => (await look.row(run.id))["awaits"]).toBe("approved");
    await amends.signal(run.id, approved, { by: "ann" });
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-25] signals that come early are kept: before the saga has begun, and before it waits", async () => {
    const held = gate();
    const waiting = saga("waiting", nothing)
      .step("one", { act: () => held.pass() })
      .waitFor("approval", { signal: approved })
      .waitFor("payment", { signal: paid });
    const amends = await database.amends({ sagas: [waiting] });
    const { id } = await amends.start(waiting, {});
    await amends.signal(id, paid, { cents: 7 });
    const work = amends.worker().runOnce();
    await held.reached;
    await amends.signal(id, approved, { by: "bob" });
    held.open();
    await work;
    // It never rested: what it would have waited for was there.
    expect((await (await onlooker(database)).lines(id)).filter((line) => line.startsWith("$"))).toEqual([
      "$claim act COMPLETED",
    ]);
    expect(await (await amends.get(id)).result()).toMatchObject({
      status: "COMPLETED",
      results: { approval: { by: "bob" }, payment: { cents: 7 } },
    });
  });

  it("[S-25] the same signal sent twice has one effect, however late the second comes", async () => {
    const twice = saga("twice", nothing)
      .waitFor("first", { signal: approved })
      .waitFor("second", { signal: approved, timeout: "1d", onTimeout: "continue" });
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [twice], clock });
    const { id } = await amends.start(twice, {});
    const send = () => amends.signal(id, approved, { by: "ann" }, { id: "click-1" });
    expect([await send(), await send()]).toEqual([true, false]);
    await amends.worker().runOnce();
    expect(await send()).toBe(false);
    clock.jump(DAY_MS);
    await amends.worker().runOnce();
    const run = await amends.get(id);
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { first: { by: "ann" } } });
    expect((await amends.inspect(id))?.results["second"]).toBeUndefined();
    expect(await send()).toBe(false);
    expect(await signalsOf(database, id)).toEqual(['approved {"by":"ann"}']);
  });

  it("[S-25] several signals of one name are taken in the order in which they were sent, each once", async () => {
    const twice = saga("twice", nothing)
      .waitFor("first", { signal: approved })
      .waitFor("second", { signal: approved });
    const amends = await database.amends({ sagas: [twice] });
    const { id } = await amends.start(twice, {});
    for (const by of ["ann", "bob", "eve"]) await amends.signal(id, approved, { by });
    await amends.worker().runOnce();
    expect((await amends.inspect(id))?.results).toEqual({ first: { by: "ann" }, second: { by: "bob" } });
  });

  it("[S-25][S-21] when its time is over the saga compensates, and a signal that comes then is refused", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const waiting = order(log);
    const amends = await database.amends({ sagas: [waiting], clock });
    const run = await amends.start(waiting, {});
    await amends.worker().runOnce();
    clock.jump(3 * DAY_MS - 1);
    expect(await amends.worker().runOnce()).toBe(0);
    clock.jump(1);
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      step: "approval",
      error: { kind: "deadline", label: "DeadlinePassed" },
    });
    expect(log).toEqual(["reserve", "release"]);
    expect(await amends.signal(run.id, approved, { by: "ann" }).catch(code)).toBe("SAGA_ENDED");
  });

  it("[S-25] a wait that may be done without goes on when its time is over, with no result", async () => {
    const clock = virtualClock();
    const waiting = saga("waiting", nothing)
      .pivot("charge", { act: () => "charged" })
      .waitFor("address", { signal: approved, timeout: "1d", onTimeout: "continue" })
      .step("ship", { act: ({ results }) => results.address?.by ?? "the address on file" });
    const amends = await database.amends({ sagas: [waiting], clock });
    const run = await amends.start(waiting, {});
    await amends.worker().runOnce();
    clock.jump(DAY_MS);
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({
      status: "COMPLETED",
      results: { ship: "the address on file" },
    });
  });

  it("[S-25] a signal that nobody waits for is kept and changes nothing: a pause between two tries stays as long", async () => {
    const clock = virtualClock();
    const failing = saga("failing", nothing, { retry: { base: "30s" } })
      .step("one", { act: ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("busy")) : attempt) })
      .waitFor("approval", { signal: approved });
    const amends = await database.amends({ sagas: [failing], clock });
    const { id } = await amends.start(failing, {});
    await amends.worker().runOnce();
    await amends.signal(id, approved, { by: "ann" });
    await amends.signal(id, paid, { cents: 1 });
    expect(await amends.worker().runOnce()).toBe(0);
    clock.jump(30_000);
    expect(await amends.worker().runOnce()).toBe(1);
    expect((await amends.inspect(id))?.status).toBe("COMPLETED");
  });

  it("[S-25] a signal of another name does not wake a saga that waits", async () => {
    const waiting = order();
    const amends = await database.amends({ sagas: [waiting], clock: virtualClock() });
    const { id } = await amends.start(waiting, {});
    await amends.worker().runOnce();
    await amends.signal(id, paid, { cents: 1 });
    expect(await amends.worker().runOnce()).toBe(0);
  });

  it("[S-25] in the caller's transaction a signal was sent exactly if that commits", async () => {
    const waiting = order();
    const clock = virtualClock();
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, sagas: [waiting] });
    const { id } = await amends.start(waiting, {});
    await amends.worker().runOnce();
    const send = (fails: boolean) =>
      db.transaction(async (_, tx) => {
        expect(await amends.signal(id, approved, { by: "ann" }, { tx, id: "once" })).toBe(true);
        if (fails) throw new Error("changed my mind");
      });
    await expect(send(true)).rejects.toThrow("changed my mind");
    expect(await signalsOf(database, id)).toEqual([]);
    expect(await amends.worker().runOnce()).toBe(0);
    await send(false);
    expect(await amends.worker().runOnce()).toBe(1);
    expect((await amends.inspect(id))?.status).toBe("COMPLETED");
  });

  it("[S-25][S-19] a saga can be started and told something in one transaction", async () => {
    const waiting = order();
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [waiting] });
    await db.transaction(async (_, tx) => {
      const { id } = await amends.start(waiting, {}, { id: "o-1", tx });
      await amends.signal(id, approved, { by: "ann" }, { tx });
    });
    await amends.worker().runOnce();
    expect((await amends.inspect("o-1"))?.status).toBe("COMPLETED");
  });

  it("[S-25][K-20] what cannot be sent is refused with a typed error, and nothing is written", async () => {
    const waiting = order();
    const amends = await database.amends({ sagas: [waiting] });
    const { id } = await amends.start(waiting, {});
    const send = (...given: unknown[]): Promise<unknown> =>
      (amends.signal as (...all: unknown[]) => Promise<unknown>).call(amends, ...given).catch(code);
    expect(await send(id, approved, { by: 7 })).toBe("BAD_INPUT");
    expect(await send(id, approved, undefined)).toBe("BAD_INPUT");
    expect(await send(id, signal("big", z.any()), "x".repeat(2_000_000))).toBe("BAD_INPUT");
    expect(await send(id, signal("odd", z.any()), 1n)).toBe("BAD_INPUT");
    expect(await send("nobody", approved, { by: "ann" })).toBe("SAGA_NOT_FOUND");
    expect(await send("", approved, { by: "ann" })).toBe("BAD_ID");
    expect(await send("a\0", approved, { by: "ann" })).toBe("BAD_ID");
    expect(await send(id, approved, { by: "ann" }, { id: "" })).toBe("BAD_ID");
    expect(await send(id, approved, { by: "ann" }, { dedupe: "x" })).toBe("BAD_OPTION");
    expect(await send(id, "approved", { by: "ann" })).toBe("BAD_OPTION");
    expect(await signalsOf(database, id)).toEqual([]);
    await amends.close();
    expect(await send(id, approved, { by: "ann" })).toBe("CLOSED");
  });

  it("[S-25] a signal that is sent in the very moment in which the saga begins to wait is not overlooked", async () => {
    const { database: db, holdNext } = watched(await database.open({ clock: virtualClock() }));
    const begun = gate();
    const waiting = saga("waiting", nothing)
      .step("one", { act: () => begun.pass() })
      .waitFor("approval", { signal: approved });
    const amends = await database.amends({ database: db, sagas: [waiting] });
    const other = await database.amends({ sagas: [waiting], clock: virtualClock() });
    const { id } = await amends.start(waiting, {});
    const work = amends.worker().runOnce();
    await begun.reached;
    const commit = holdNext();
    begun.open();
    // It has looked for signals, found none, and is about to rest.
    await commit.reached;
    await other.signal(id, approved, { by: "ann" });
    commit.open();
    await work;
    expect(await amends.worker().runOnce()).toBe(1);
    expect((await amends.inspect(id))?.status).toBe("COMPLETED");
  });

  it("[S-25] a signal is taken once, also where the worker that took it was lost before it could say so", async () => {
    const twice = saga("twice", nothing)
      .waitFor("first", { signal: approved })
      .step("between", { act: ({ results }) => results.first.by })
      .waitFor("second", { signal: approved });
    const { first, second, lapse } = await pair(database, { sagas: [twice] });
    const { id } = await first.start(twice, {});
    await first.signal(id, approved, { by: "ann" });
    const { holdNext, database: slow } = watched(await database.open({ clock: virtualClock() }));
    const third = await database.amends({ database: slow, sagas: [twice] });
    const claim = holdNext();
    const work = third.worker().runOnce();
    await claim.reached;
    const booking = holdNext();
    claim.open();
    await booking.reached;
    lapse();
    await second.worker().runOnce();
    booking.open();
    await work;
    expect((await second.inspect(id))?.results).toEqual({ first: { by: "ann" }, between: "ann" });
    await second.signal(id, approved, { by: "bob" });
    await second.worker().runOnce();
    expect((await second.inspect(id))?.results).toMatchObject({ second: { by: "bob" } });
  });

  it("[S-25][S-16] a signal of the name that a saga waited for before opens nothing while a worker has the saga", async () => {
    const held = gate();
    let calls = 0;
    const shipped = saga("order", nothing)
      .waitFor("approval", { signal: approved })
      .step("ship", { act: () => ((calls += 1) === 1 ? held.pass() : undefined) });
    const { first, second } = await pair(database, { sagas: [shipped] });
    const { id } = await first.start(shipped, {});
    await first.worker().runOnce();
    await first.signal(id, approved, { by: "ann" });
    const running = first.worker().runOnce();
    await held.reached;
    await second.signal(id, approved, { by: "bob" });
    expect(await second.worker().runOnce()).toBe(0);
    held.open();
    await running;
    expect(await second.inspect(id)).toMatchObject({ status: "COMPLETED", recoveryAttempts: 0 });
    expect(calls).toBe(1);
  });

  it("[S-25][S-23] a cancel ends a wait at once", async () => {
    const clock = virtualClock();
    const waiting = order();
    const amends = await database.amends({ sagas: [waiting], clock });
    const run = await amends.start(waiting, {});
    await amends.worker().runOnce();
    await amends.cancel(run.id, { reason: "changed her mind" });
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "approval" });
  });

  it("[S-25][S-27] a wait after a transactional step begins with its commit, and rests in the next", async () => {
    const waiting = saga("waiting", nothing)
      .step("book", { transaction: transactionOn(database.name), act: () => "booked" })
      .waitFor("approval", { signal: approved });
    const amends = await database.amends({ sagas: [waiting], clock: virtualClock() });
    const { id } = await amends.start(waiting, {});
    await amends.worker().runOnce();
    const look = await onlooker(database);
    expect(await look.row(id)).toMatchObject({ owner: null, awaits: "approved" });
    await amends.signal(id, approved, { by: "ann" });
    await amends.worker().runOnce();
    expect((await amends.inspect(id))?.status).toBe("COMPLETED");
  });

  it("[S-25][S-27] a transactional step may tell its own saga something, in its own transaction", async () => {
    const box: { amends?: Amends } = {};
    const waiting = saga("waiting", nothing)
      .step("book", {
        transaction: transactionOn(database.name),
        act: async ({ sagaId, tx, attempt }) => {
          await box.amends?.signal(sagaId, approved, { by: `try ${attempt}` }, { tx });
          if (attempt === 1) throw new Error("busy");
        },
        retry: { base: "1ms" },
      })
      .waitFor("approval", { signal: approved });
    const amends = await database.amends({ sagas: [waiting] });
    box.amends = amends;
    await database.worker(amends);
    const run = await amends.start(waiting, {});
    // What the first try sent was rolled back with it.
    expect(await run.result()).toMatchObject({ results: { approval: { by: "try 2" } } });
    expect(await signalsOf(database, run.id)).toEqual(['approved {"by":"try 2"}']);
  });

  it("[S-25][P-06] what was sent to a saga is removed together with it", async () => {
    const clock = virtualClock();
    const waiting = order();
    const retention = { sagas: { completed: "1d" } } as const;
    const amends = await database.amends({ sagas: [waiting], clock, retention });
    const { id } = await amends.start(waiting, {});
    await amends.signal(id, approved, { by: "ann" }, { id: "once" });
    await amends.worker().runOnce();
    clock.jump(2 * DAY_MS);
    expect(await amends.retention.runOnce()).toBe(1);
    expect(await signalsOf(database, id)).toEqual([]);
    await amends.start(waiting, {}, { id });
    expect(await amends.signal(id, approved, { by: "bob" }, { id: "once" })).toBe(true);
  });

  it("[S-25] what was sent to a saga cannot be changed, by whatever client", async () => {
    const waiting = order();
    const amends = await database.amends({ sagas: [waiting] });
    const { id } = await amends.start(waiting, {});
    await amends.signal(id, approved, { by: "ann" });
    const { db } = await onlooker(database);
    await expect(db.query(sql`update ${db.dialect.table("saga_signals")} set payload = 'x'`)).rejects.toThrow(
      /never changes/,
    );
  });
});

onDatabase("postgres", (database) => {
  checkInvariantsAfterEach(database);

  it("[S-25] nor is one whose transaction is still open in that moment", async () => {
    const begun = gate();
    const waiting = saga("waiting", nothing)
      .step("one", { act: () => begun.pass() })
      .waitFor("approval", { signal: approved });
    const amends = await database.amends({ sagas: [waiting], clock: virtualClock() });
    const db = await database.open({ clock: virtualClock() });
    const sender = await database.amends({ database: db, sagas: [waiting] });
    const { id } = await amends.start(waiting, {});
    const work = amends.worker().runOnce();
    await begun.reached;
    const look = await onlooker(database);
    await db.transaction(async (_, tx) => {
      await sender.signal(id, approved, { by: "ann" }, { tx });
      begun.open();
      // The worker has seen no signal, and waits for the row that the sender holds.
      const isBlocked = async (): Promise<number> =>
        (await look.db.query(sql`select 1 from pg_locks where not granted`)).length;
      await expect.poll(isBlocked).toBeGreaterThan(0);
    });
    await work;
    expect(await amends.worker().runOnce()).toBe(1);
    expect((await amends.inspect(id))?.status).toBe("COMPLETED");
  });
});
