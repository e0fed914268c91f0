/** The functions of a saga that make its events: they may wait, and they run outside of any transaction. */
import { err, ok } from "amends";
import { event, eventSaga, handler, step } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { raw, sql } from "../../src/storage/sql.ts";
import type { Database } from "../../src/storage/database.ts";
import { effect, makeEffects, transactionOn } from "../sagas/support/effects-table.ts";
import { onEachDatabase } from "../support/databases.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";

const id = z.object({ key: z.string() });
const Placed = event("Placed", id);
const [Held, NotHeld] = [event("Held", id), event("NotHeld", id)];
const [Paid, NotPaid] = [event("Paid", id), event("NotPaid", id)];
const [Shipped, NotShipped] = [event("Shipped", id), event("NotShipped", id)];
const Release = event("Release", z.object({ key: z.string(), why: z.string() }));
const Refund = event("Refund", z.object({ key: z.string() }));
const [Released, NotReleased] = [event("Released", id), event("NotReleased", id)];
const Done = event("Done", z.object({ key: z.string(), note: z.string() }));
const Failed = event("Failed", z.object({ key: z.string(), step: z.string() }));

const hold = handler("hold", { on: Placed, ok: Held, err: NotHeld, handle: ({ key }) => ok(Held({ key })) });
const pay = handler("pay", { on: Held, ok: Paid, err: NotPaid, handle: ({ key }) => ok(Paid({ key })) });

/** What a function of the saga reads from the database, on a connection of its own. */
async function read(db: Database): Promise<string> {
  const [row] = await db.query(raw("select 'read' as what"));
  return row?.["what"] as string;
}

onEachDatabase((database) => {
  it("[F-03][F-10][K-10] onCompensate makes each command, may wait and read, and says by undefined that there is nothing to undo", async () => {
    const db = await database.open({ connections: 1 });
    const released: string[] = [];
    const release = handler("release", {
      on: Release,
      ok: Released,
      err: NotReleased,
      handle: ({ key, why }) => {
        released.push(why);
        return ok(Released({ key }));
      },
    });
    const ship = handler("ship", {
      on: Paid,
      ok: Shipped,
      err: NotShipped,
      handle: ({ key }) => err(NotShipped({ key })),
    });
    const asked: string[] = [];
    const saga = eventSaga("order", {
      trigger: Placed,
      correlate: "key",
      steps: [
        step("hold", hold, { compensation: Release }),
        step("pay", pay, { compensation: Refund }),
        step("ship", ship),
      ],
      onCompleted: async (key) => Done({ key, note: await read(db) }),
      onFailed: async (key, failure) => (await read(db), Failed({ key, step: failure.step })),
      onCompensate: async (key, { name }) => {
        asked.push(name);
        const why = await read(db);
        return name === "hold" ? Release({ key, why }) : undefined;
      },
    });
    const amends = await database.amends({ database: db, events: [saga, release] });
    await database.worker(amends);
    await amends.events.publish(Placed({ key: "o-1" }));
    const run = await runIn(amends, saga, "o-1", "failed");
    expect(run.failure?.step).toBe("ship");
    expect(asked).toEqual(["pay", "hold"]);
    expect(released).toEqual(["read"]);
    expect((await sent(db)).slice(-4)).toEqual(["NotShipped", "Release > release", "Released", "Failed"]);
  });

  it("[F-03][F-11] a run does not wait for the answer to a command that onCompensate did not make", async () => {
    const db = await database.open();
    const called: string[] = [];
    const release = handler("release", {
      on: Release,
      ok: Released,
      err: NotReleased,
      handle: ({ key }) => (called.push(key), ok(Released({ key }))),
    });
    const refuse = handler("refuse", {
      on: Held,
      ok: Paid,
      err: NotPaid,
      handle: ({ key }) => err(NotPaid({ key })),
    });
    const saga = eventSaga("order", {
      trigger: Placed,
      correlate: "key",
      steps: [step("hold", hold, { compensation: Release }), step("pay", refuse)],
      onCompleted: (key) => Done({ key, note: "" }),
      onFailed: (key, failure) => Failed({ key, step: failure.step }),
      onCompensate: () => undefined,
    });
    const amends = await database.amends({ database: db, events: [saga, release] });
    await database.worker(amends);
    await amends.events.publish(Placed({ key: "o-1" }));
    expect((await runIn(amends, saga, "o-1", "failed")).failure?.step).toBe("pay");
    expect(called).toEqual([]);
    expect((await sent(db)).slice(-2)).toEqual(["NotPaid", "Failed"]);
  });

  it("[F-03] a command of onCompensate that its step does not declare is a breach of contract", async () => {
    const ship = handler("ship", {
      on: Held,
      ok: Shipped,
      err: NotShipped,
      handle: ({ key }) => err(NotShipped({ key })),
    });
    const saga = eventSaga("order", {
      trigger: Placed,
      correlate: "key",
      steps: [step("hold", hold, { compensation: Release }), step("ship", ship)],
      onCompleted: (key) => Done({ key, note: "" }),
      onFailed: (key, failure) => Failed({ key, step: failure.step }),
      onCompensate: (key) => Refund({ key }),
    });
    const amends = await database.amends({ events: [saga] });
    await database.worker(amends);
    await amends.events.publish(Placed({ key: "o-1" }));
    const item = await waitFor(async () => (await amends.attention.list()).items[0]);
    expect(item).toMatchObject({ kind: "abandoned-event", handler: "ship", error: "SagaContractViolation" });
  });

  it("[K-10][F-07] onCompleted runs before the transaction of the last handler opens", async () => {
    const db = await database.open({ connections: 1 });
    await makeEffects(db);
    const order: string[] = [];
    const write = handler("write", {
      on: Placed,
      ok: Held,
      err: NotHeld,
      transaction: transactionOn(database.name),
      handle: async ({ key }, { tx }) => {
        order.push("handle");
        await effect(tx, "written");
        return ok(Held({ key }));
      },
    });
    const saga = eventSaga("order", {
      trigger: Placed,
      correlate: "key",
      steps: [step("write", write)],
      onCompleted: async (key) => {
        order.push(await read(db));
        return Done({ key, note: "" });
      },
      onFailed: (key, failure) => Failed({ key, step: failure.step }),
    });
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    await amends.events.publish(Placed({ key: "o-1" }));
    await runIn(amends, saga, "o-1", "completed");
    expect(order).toEqual(["read", "handle"]);
  });

  it("[F-01][F-03] in a worker, the step's own check refuses an event that the step does not promise", async () => {
    const bad = handler("bad", {
      on: Placed,
      ok: Held,
      err: NotHeld,
      handle: ({ key }) => ok(Paid({ key })) as never,
    });
    const saga = eventSaga("order", {
      trigger: Placed,
      correlate: "key",
      steps: [step("only", bad)],
      onCompleted: (key) => Done({ key, note: "" }),
      onFailed: (key, failure) => Failed({ key, step: failure.step }),
    });
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga], keepMessages: true });
    await database.worker(amends);
    await amends.events.publish(Placed({ key: "o-1" }));
    expect(await runIn(amends, saga, "o-1", "failed")).toMatchObject({
      failure: { step: "only", error: "SagaContractViolation" },
    });
    const [row] = await db.query(
      sql`select last_error from ${db.dialect.table("outbox")} where handler = 'bad'`,
    );
    expect(row?.["last_error"]).toContain("Step only promises Held, but handler bad returned Paid");
  });
});
