import { err, ok } from "amends";
import { event, eventSaga, handler, step, type SagaDef } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { conflict, effect, effects, makeEffects, transactionOn } from "../sagas/support/effects-table.ts";
import { gate } from "../sagas/support/gate.ts";
import { pair } from "../sagas/support/pair.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { sent, waitFor } from "./support/flow.ts";

const id = z.object({ id_: z.string() });
const Begun = event("Begun", id);
const Written = event("Written", id);
const Refused = event("Refused", id);
const Done = event("Done", id);
const Failed = event("Failed", id);

onEachDatabase((database) => {
  const make = (
    handle: (tx: unknown, n: number, attempt: number) => Promise<"ok" | "err">,
    attempts = 3,
  ): SagaDef => {
    let calls = 0;
    const writing = handler("writing", {
      on: Begun,
      ok: Written,
      err: Refused,
      retry: { attempts, base: "1s" },
      transaction: transactionOn(database.name),
      handle: async (e, { tx, attempt }) =>
        (await handle(tx, ++calls, attempt)) === "ok"
          ? ok(Written({ id_: e.id_ }))
          : err(Refused({ id_: e.id_ })),
    });
    return eventSaga("writer", {
      trigger: Begun,
      correlate: "id_",
      steps: [step("write", writing)],
      onCompleted: (id_) => Done({ id_ }),
      onFailed: (id_) => Failed({ id_ }),
    });
  };

  it("[F-07] what a handler writes in its transaction, its event, the run and the delivery's mark are one commit", async () => {
    const db = await database.open();
    await makeEffects(db);
    const saga = make(async (tx) => (await effect(tx, "written"), "ok"));
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    const [run] = await amends.events.publish(Begun({ id_: "p" }));
    expect(await run?.ended()).toBe("completed");
    expect(await effects(db)).toEqual(["written"]);
    expect(await sent(db)).toEqual(["Begun > writing", "Written", "Done"]);
  });

  it("[F-07] nothing that a handler wrote is kept where it answers with err", async () => {
    const db = await database.open();
    await makeEffects(db);
    const saga = make(async (tx) => (await effect(tx, "written"), "err"));
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    const [run] = await amends.events.publish(Begun({ id_: "p" }));
    expect(await run?.ended()).toBe("failed");
    expect(await effects(db)).toEqual([]);
    expect(await sent(db)).toEqual(["Begun > writing", "Refused", "Failed"]);
  });

  it("[K-12][F-07] a conflict in the handler's own statement is the database's: no try of it is recorded as failed", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    const conflicts = database.name === "postgres" ? 10 : 5;
    const saga = make(async (tx, n, attempt) => {
      await effect(tx, `call ${n}, attempt ${attempt}`);
      if (n <= conflicts) await conflict(database.name, tx, n % 2 ? "40001" : "40P01");
      return "ok";
    }, 1);
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    const [run] = await amends.events.publish(Begun({ id_: "p" }));
    const status = await waitFor(async () => {
      await clock.advance(500);
      const view = await amends.events.inspect(run?.id ?? "");
      return view?.status !== "running" && view?.status;
    });
    expect(status).toBe("completed");
    expect(await effects(db)).toEqual([`call ${conflicts + 1}, attempt 1`]);
  });

  it("[F-07] a try that throws leaves nothing; the one that succeeds writes once", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    const saga = make(async (tx, n) => {
      await effect(tx, `try ${n}`);
      if (n === 1) throw new Error("trouble");
      return "ok";
    });
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    const [run] = await amends.events.publish(Begun({ id_: "p" }));
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await amends.events.inspect(run?.id ?? ""))?.status === "completed";
    });
    expect(await effects(db)).toEqual(["try 2"]);
  });

  // On SQLite the open transaction of the first would keep the second from writing at all.
  // oxlint-disable-next-line vitest/no-conditional-tests -- on SQLite there is no such test
  if (database.name === "postgres") {
    it("[F-07][K-06] a handler whose delivery was taken over commits nothing", async () => {
      const hold = gate();
      const db = await database.open();
      await makeEffects(db);
      const slow = make(async (tx) => (await effect(tx, "slow"), await hold.pass(), "ok"));
      const quick = make(async (tx) => (await effect(tx, "quick"), "ok"));
      const { first, second, lapse } = await pair(database, { events: [slow] }, { events: [quick] });
      const worker = await database.worker(first);
      const [run] = await first.events.publish(Begun({ id_: "p" }));
      await hold.reached;
      lapse();
      await database.worker(second);
      await waitFor(async () => (await second.events.inspect(run?.id ?? ""))?.status === "completed");
      hold.open();
      await worker.stop();
      expect(await effects(db)).toEqual(["quick"]);
      expect(await sent(db)).toEqual(["Begun > writing", "Written", "Done"]);
    });
  }

  // On SQLite the open transaction of the first would keep the second from writing at all.
  // oxlint-disable-next-line vitest/no-conditional-tests -- on SQLite there is no such test
  if (database.name === "postgres") {
    it("[F-07][K-06] a handler outside any saga whose delivery was taken over is not called again and again", async () => {
      const [slow, quick] = [gate(), gate()];
      const db = await database.open();
      await makeEffects(db);
      const calls: string[] = [];
      const make1 = (name: string, hold: typeof slow): ReturnType<typeof handler> =>
        handler("writing", {
          on: Begun,
          ok: Written,
          err: Refused,
          transaction: transactionOn(database.name),
          handle: async (e, { tx }) => {
            calls.push(name);
            await effect(tx, name);
            await hold.pass();
            return ok(Written({ id_: e.id_ }));
          },
        });
      const { first, second, lapse } = await pair(
        database,
        { events: [make1("slow", slow)] },
        { events: [make1("quick", quick)] },
      );
      const worker = await database.worker(first);
      await first.events.publish(Begun({ id_: "p" }));
      await slow.reached;
      lapse();
      await database.worker(second);
      await quick.reached;
      slow.open();
      await worker.stop();
      quick.open();
      await waitFor(async () => (await sent(db)).includes("Written"));
      expect(calls).toEqual(["slow", "quick"]);
      expect(await effects(db)).toEqual(["quick"]);
    });
  }
});
