import { claimCount } from "../../src/core/claim-token.ts";
import { FIRST_CLAIM } from "../support/claims.ts";
import type { VirtualClock } from "amends/testing";
import { event, handler, ok } from "amends/events";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { settled } from "../../src/core/outbox/machine.ts";
import { NOTHING_OUT, type Delivery, type RunRecord } from "../../src/events/run/outcome.ts";
import { FlowStore } from "../../src/events/store/store.ts";
import type { WriteAnswer } from "../../src/events/store/outcome-writer.ts";
import type { NewDelivery } from "../../src/outbox/deliveries/row.ts";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { newId } from "../../src/runtime/identifiers.ts";
import { onEachDatabase, virtualClock, type TestDatabase } from "../support/databases.ts";
import { gate } from "../sagas/support/gate.ts";
import { faulty, withCode } from "../storage/support/faults.ts";
import { convention, Registered } from "./support/convention.ts";
import { sent, waitFor } from "./support/flow.ts";

const UNWATCHED = { trouble: () => undefined, answered: () => undefined };

const LEASE_MS = 1_000;
const known = { deliverable: ["CreateSchema@1"], routable: [] };

async function begin(
  database: TestDatabase,
): Promise<{ db: Database; store: FlowStore; lapse: () => void; claim: () => Promise<Delivery> }> {
  const clock = virtualClock();
  const db = await database.open({ clock });
  const amends = await database.amends({ database: db, events: [convention().saga] });
  await amends.events.publish(Registered({ srn: "c-1" }));
  const signal = new AbortController().signal;
  const store = new FlowStore({
    db,
    leaseMs: LEASE_MS,
    signal,
    watch: UNWATCHED,
  });
  const claim = async (): Promise<Delivery> => {
    const [delivery] = await store.claim(known, 5);
    if (!delivery) throw new Error("nothing was due");
    return delivery;
  };
  return { db, store, claim, lapse: () => clock.jump(LEASE_MS + 1) };
}

function consequence(): NewDelivery {
  const id = newId();
  const nothing = {
    handler: undefined,
    correlation: undefined,
    causation: undefined,
    sagaId: undefined,
    trace: undefined,
  };
  return {
    id,
    firstToken: FIRST_CLAIM,
    eventId: id,
    name: "Consequence",
    version: 1,
    payload: "{}",
    opens: false,
    saga: undefined,
    fan: "event" as const,
    eventCorrelation: undefined,
    laneOf: undefined,
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

const Told = event("Told", z.object({ n: z.number() }));
const Heard = event("Heard", z.object({ n: z.number() }));
const Unheard = event("Unheard", z.object({ n: z.number() }));

/** A process with a worker, whose handler waits. */
async function heldHandler(database: TestDatabase) {
  const held = gate();
  const hears = handler("Hears", {
    on: Told,
    ok: Heard,
    err: Unheard,
    handle: async ({ n }) => (await held.pass(), ok(Heard({ n }))),
  });
  const db = await database.open();
  const amends = await database.amends({ database: db, events: [hears] });
  await database.worker(amends);
  return { held, db, amends };
}

onEachDatabase((database) => {
  it("[K-04][K-06] an event with an id of the caller's that is published again, because the database lost it, is another claim", async () => {
    const { held, amends, db } = await heldHandler(database);
    const id = newId();
    await amends.events.publish(Told({ n: 1 }, { id }));
    await held.reached;
    const other = await heldHandler(database);
    await db.query(sql`delete from ${db.dialect.table("outbox")}`);
    await other.amends.events.publish(Told({ n: 1 }, { id }));
    await other.held.reached;
    held.open();
    await vi.waitFor(() => expect(amends.events.lost).toBe(1));
    const rows = (): Promise<readonly unknown[]> =>
      db.query(sql`select name, status from ${db.dialect.table("outbox")} order by name desc`);
    expect(await rows()).toMatchObject([{ name: "Told", status: "in_flight" }]);
    other.held.open();
    await vi.waitFor(async () =>
      expect(await rows()).toMatchObject([{ name: "Told", status: "succeeded" }, { name: "Heard" }]),
    );
  });

  it("[K-06][F-08] an older claim settles nothing, moves no run and sends nothing, while a newer one is held", async () => {
    const { db, store, claim, lapse } = await begin(database);
    const older = await claim();
    lapse();
    const newer = await claim();
    expect([newer.id, claimCount(newer.token)]).toEqual([older.id, claimCount(older.token) + 1]);
    const out = { rows: [consequence()], runs: [] };
    const late = await store.settle({ delivery: older, to: settled("succeed"), move: moved(older.run), out });
    expect(late.isWritten).toBe(false);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema (in_flight)"]);
    const [state] = await db.query(sql`select version, current_step from ${db.dialect.table("saga_state")}`);
    expect(state).toMatchObject({ version: 1, current_step: 0 });
    const good = await store.settle({ delivery: newer, to: settled("succeed"), move: moved(newer.run), out });
    expect(good.isWritten).toBe(true);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema", "Consequence"]);
  });

  it("[F-07][F-08] an outcome that was decided on an older state of its run is refused as a whole", async () => {
    const { db, store, claim } = await begin(database);
    const delivery = await claim();
    expect(await store.move(moved(delivery.run), NOTHING_OUT)).toBe(true);
    expect(await store.move(moved(delivery.run), NOTHING_OUT)).toBe(false);
    const out = { rows: [consequence()], runs: [] };
    const stale = await store.settle({ delivery, to: settled("succeed"), move: moved(delivery.run), out });
    expect(stale.isWritten).toBe(false);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema (in_flight)"]);
    const [state] = await db.query(sql`select version from ${db.dialect.table("saga_state")}`);
    expect(state).toMatchObject({ version: 2 });
  });

  it("[F-07][F-08] of two that supersede one delivery, whichever comes later moves nothing and sends nothing", async () => {
    const { db, store, claim, lapse } = await begin(database);
    const delivery = await claim();
    lapse();
    // Both have read the same unclaimed delivery, so both name the same token.
    const supersede = (): Promise<boolean> =>
      store.supersede(delivery, "DeadlinePassed", moved(delivery.run), { rows: [consequence()], runs: [] });
    expect([await supersede(), await supersede()]).toEqual([true, false]);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema (superseded)", "Consequence"]);
    const [state] = await db.query(sql`select version from ${db.dialect.table("saga_state")}`);
    expect(state).toMatchObject({ version: 2 });
  });

  it("[K-12][F-07] a delivery that an unanswered commit superseded is superseded, and what it sends is sent once", async () => {
    const { db, store: first, claim } = await begin(database);
    const delivery = await claim();
    const faults = faulty(db);
    const signal = new AbortController().signal;
    const store = new FlowStore({ db: faults.db, leaseMs: LEASE_MS, signal, watch: UNWATCHED });
    faults.plan(1, 1, "after", withCode(database.name === "postgres" ? "57P01" : "SQLITE_BUSY"));
    const out = { rows: [consequence()], runs: [] };
    // The answer to the commit is lost; the pause before the repeat is in virtual time.
    const superseding = store.supersede(delivery, "DeadlinePassed", moved(delivery.run), out);
    await vi.waitFor(async () => {
      await (db.clock as VirtualClock).advance(1_000);
      expect(faults.count()).toBeGreaterThan(1);
    });
    expect(await superseding).toBe(true);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema (superseded)", "Consequence"]);
    expect(await first.isHeld(delivery)).toBe(false);
  });

  it("[K-12] an outcome whose commit was not answered is found in the database, and its consequences are not doubled", async () => {
    const { db, store, claim } = await begin(database);
    const delivery = await claim();
    const settlement = {
      delivery,
      to: settled("succeed"),
      move: moved(delivery.run),
      out: { rows: [consequence()], runs: [] },
    };
    expect((await store.settle(settlement)).isWritten).toBe(true);
    expect((await store.settle(settlement)).isWritten).toBe(true);
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
    const out = (): { rows: NewDelivery[]; runs: [] } => ({ rows: [consequence()], runs: [] });
    const lost = { ...delivery, token: delivery.token + 7 };
    const answers = await Promise.all([
      store.settle({ delivery: lost, to: settled("succeed"), out: out() }),
      store.settle({ delivery, to: settled("succeed"), move: moved(delivery.run), out: out() }),
      store.publish(out()),
    ]);
    expect(answers.map(({ isWritten }) => isWritten)).toEqual([false, true, true]);
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
    expect(answers.map(({ isWritten }) => isWritten)).toEqual([false, true]);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema", "Consequence"]);
  });

  it("[F-08] of two outcomes that move one run and are written together, the first holds and the second is refused", async () => {
    const { db, store, claim } = await begin(database);
    const delivery = await claim();
    const twin = consequence();
    await store.publish({ rows: [{ ...twin, handler: "CreateSchema" }], runs: [] });
    const other = await claim();
    const out = (): { rows: NewDelivery[]; runs: [] } => ({ rows: [consequence()], runs: [] });
    const answers = await Promise.all([
      store.settle({ delivery, to: settled("succeed"), move: moved(delivery.run), out: out() }),
      store.settle({ delivery: other, to: settled("succeed"), move: moved(delivery.run), out: out() }),
    ]);
    expect(answers.map(({ isWritten }) => isWritten)).toEqual([true, false]);
    expect(await sent(db)).toEqual([
      "ConventionRegistered > CreateSchema",
      "Consequence > CreateSchema (in_flight)",
      "Consequence",
    ]);
  });

  it("[F-07][F-08] a run that moves while an outcome is being written refuses that outcome, and nothing else", async () => {
    const { db, store, claim } = await begin(database);
    const delivery = await claim();
    const out = (): { rows: NewDelivery[]; runs: [] } => ({ rows: [consequence()], runs: [] });
    let writing: Promise<readonly WriteAnswer[]> | undefined;
    // On PostgreSQL the outcome waits for this transaction with the snapshot from before it; on SQLite it begins after it.
    await db.transaction(async (session) => {
      await session.query(sql`update ${db.dialect.table("saga_state")} set version = version + 1`);
      writing = Promise.all([
        store.settle({ delivery, to: settled("succeed"), move: moved(delivery.run), out: out() }),
        store.publish(out()),
      ]);
      if (database.name === "postgres") await waitFor(() => isWaiting(db));
    });
    expect((await writing)?.map(({ isWritten }) => isWritten)).toEqual([false, true]);
    expect(await sent(db)).toEqual(["ConventionRegistered > CreateSchema (in_flight)", "Consequence"]);
  });
});

/** A statement of another connection waits for a lock. */
async function isWaiting(db: Database): Promise<boolean> {
  const rows = await db.query(
    sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  );
  return rows.length > 0;
}
