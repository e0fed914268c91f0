import { claimCount } from "../../src/core/claim-token.ts";
import { expect, it } from "vitest";
import { settled } from "../../src/core/outbox/machine.ts";
import type { Delivery, NewRow, RunRecord } from "../../src/events/run/delivery.ts";
import { SagaStore } from "../../src/events/store/store.ts";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { newId } from "../../src/runtime/identifiers.ts";
import { onEachDatabase, virtualClock, type TestDatabase } from "../support/databases.ts";
import { convention, Registered } from "./support/convention.ts";
import { sent } from "./support/flow.ts";

const LEASE_MS = 1_000;
const known = { deliverable: ["CreateSchema@1"], routable: [] };

async function begin(
  database: TestDatabase,
): Promise<{ db: Database; store: SagaStore; lapse: () => void; claim: () => Promise<Delivery> }> {
  const clock = virtualClock();
  const db = await database.open({ clock });
  const amends = await database.amends({ database: db, events: [convention().saga] });
  await amends.events.publish(Registered({ srn: "c-1" }));
  const signal = new AbortController().signal;
  const store = new SagaStore({ db, leaseMs: LEASE_MS, signal, onTrouble: () => undefined });
  const claim = async (): Promise<Delivery> => {
    const [delivery] = await store.claim(known, 5);
    if (!delivery) throw new Error("nothing was due");
    return delivery;
  };
  return { db, store, claim, lapse: () => clock.jump(LEASE_MS + 1) };
}

function consequence(): NewRow {
  const id = newId();
  const nothing = { handler: undefined, correlation: undefined, causation: undefined, sagaId: undefined };
  return {
    id,
    eventId: id,
    name: "Consequence",
    version: 1,
    payload: "{}",
    opens: false,
    ...nothing,
  };
}

function moved(run: RunRecord | undefined): { run: RunRecord; state: RunRecord["state"]; stepMs: undefined } {
  if (!run) throw new Error("there is no run");
  return {
    run,
    state: { ...run.state, currentStep: 1, completedSteps: ["create_schema"] },
    stepMs: undefined,
  };
}

onEachDatabase((database) => {
  it("[K-06][F-08] an older claim settles nothing, moves no run and sends nothing, while a newer one is held", async () => {
    const { db, store, claim, lapse } = await begin(database);
    const older = await claim();
    lapse();
    const newer = await claim();
    expect([newer.id, claimCount(newer.token)]).toEqual([older.id, claimCount(older.token) + 1]);
    const out = { rows: [consequence()], runs: [] };
    const late = await store.settle({ delivery: older, to: settled("succeed"), move: moved(older.run), out });
    expect(late.applied).toBe(false);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema (in_flight)"]);
    const [state] = await db.query(sql`select version, current_step from ${db.dialect.table("saga_state")}`);
    expect(state).toMatchObject({ version: 1, current_step: 0 });
    const good = await store.settle({ delivery: newer, to: settled("succeed"), move: moved(newer.run), out });
    expect(good.applied).toBe(true);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema", "Consequence"]);
  });

  it("[F-07][F-08] an outcome that was decided on an older state of its run is refused as a whole", async () => {
    const { db, store, claim } = await begin(database);
    const delivery = await claim();
    const nothing = { rows: [], runs: [] };
    expect(
      await store.steer({
        delivery: undefined,
        to: settled("release"),
        move: moved(delivery.run),
        out: nothing,
      }),
    ).toBe(true);
    expect(
      await store.steer({
        delivery: undefined,
        to: settled("release"),
        move: moved(delivery.run),
        out: nothing,
      }),
    ).toBe(false);
    const out = { rows: [consequence()], runs: [] };
    const stale = await store.settle({ delivery, to: settled("succeed"), move: moved(delivery.run), out });
    expect(stale.applied).toBe(false);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema (in_flight)"]);
    const [state] = await db.query(sql`select version from ${db.dialect.table("saga_state")}`);
    expect(state).toMatchObject({ version: 2 });
  });

  it("[K-12] an outcome whose commit was not answered is found in the books, and its consequences are not doubled", async () => {
    const { db, store, claim } = await begin(database);
    const delivery = await claim();
    const settlement = {
      delivery,
      to: settled("succeed"),
      move: moved(delivery.run),
      out: { rows: [consequence()], runs: [] },
    };
    expect((await store.settle(settlement)).applied).toBe(true);
    expect((await store.settle(settlement)).applied).toBe(true);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema", "Consequence"]);
    const [state] = await db.query(sql`select version from ${db.dialect.table("saga_state")}`);
    expect(state).toMatchObject({ version: 2 });
  });

  it("[K-12] what an unanswered commit wrote as claimed by this worker still is when the outcome is sent again", async () => {
    const { store, claim } = await begin(database);
    const delivery = await claim();
    const row = { ...consequence(), handler: "Follow@1" };
    const settlement = { delivery, to: settled("succeed"), out: { rows: [row], runs: [] } };
    expect((await store.settle(settlement, [row])).claimed.has(row)).toBe(true);
    expect((await store.settle(settlement, [row])).claimed.has(row)).toBe(true);
  });

  it("[F-17] of many outcomes that are settled together, those that do not hold cost the others nothing", async () => {
    const { db, store, claim } = await begin(database);
    const delivery = await claim();
    const out = (): { rows: NewRow[]; runs: [] } => ({ rows: [consequence()], runs: [] });
    const lost = { ...delivery, token: delivery.token + 7 };
    const answers = await Promise.all([
      store.settle({ delivery: lost, to: settled("succeed"), out: out() }),
      store.settle({ delivery, to: settled("succeed"), move: moved(delivery.run), out: out() }),
      store.settle({ delivery: undefined, to: settled("release"), out: out() }),
    ]);
    expect(answers.map(({ applied }) => applied)).toEqual([false, true, true]);
    expect((await sent(db)).filter((one) => one === "Consequence")).toHaveLength(2);
  });

  it("[K-06][F-17] an event that a lost claim and the one that holds send in the same moment is sent, once", async () => {
    const { db, store, claim } = await begin(database);
    const delivery = await claim();
    const out = { rows: [consequence()], runs: [] };
    const lost = { ...delivery, token: delivery.token + 7 };
    const answers = await Promise.all([
      store.settle({ delivery: lost, to: settled("succeed"), out }),
      store.settle({ delivery, to: settled("succeed"), move: moved(delivery.run), out: { ...out } }),
    ]);
    expect(answers.map(({ applied }) => applied)).toEqual([false, true]);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema", "Consequence"]);
  });
});
