/** A long queue of one kind of work does not keep the others waiting. */
import { saga, type Amends } from "amends";
import { defineCall } from "amends/calls";
import { event, handler, ok } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { claimDeliveries } from "../../src/outbox/deliveries/claim-queries.ts";
import { claimEntries } from "../../src/outbox/queries.ts";
import { CALL } from "../../src/outbox/rows.ts";
import { kindOf } from "../../src/sagas/kinds/kind-of.ts";
import { claimSagas } from "../../src/sagas/journal/queries.ts";
import { sql, type Sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite } from "../conformance/plans.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { underEveryPlan } from "../support/hostile-plans.ts";
import { numbered } from "../support/numbered.ts";
import { insertRow } from "../storage/support/sagas.ts";

const QUEUED = 5_000;
const LONE = 24;
const CONCURRENCY = 20;

const nothing = z.object({});

/** Works batch by batch until the lone ones are done, and counts what was done of the long queue until then. */
async function workedBefore(
  amends: Amends,
  lone: readonly unknown[],
  many: readonly unknown[],
): Promise<number> {
  const worker = amends.worker({ concurrency: CONCURRENCY });
  while (lone.length < LONE) expect(await worker.runOnce()).toBeGreaterThan(0);
  return many.length;
}

/** While both queues are long enough, half of each batch is of each kind. */
const AT_MOST = LONE + CONCURRENCY;

onEachDatabase((database) => {
  it("[K-23] sagas of one kind do not wait for a long queue of another", async () => {
    const done = { many: [] as string[], lone: [] as string[] };
    const many = saga("a-many", nothing).step("one", { act: ({ sagaId }) => void done.many.push(sagaId) });
    const lone = saga("lone", nothing).step("one", { act: ({ sagaId }) => void done.lone.push(sagaId) });
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [many, lone] });
    const now = db.dialect.now();
    await db.query(sql`insert into ${db.dialect.table("saga_executions")}
        (id, name, status, context, plan, kind, next_attempt_at, created_at, updated_at)
      select 'many-' || r.n, 'a-many', 'PENDING', '{"input":{}}', 'one', ${kindOf(many.name, many.version, many.plan)}, ${now}, ${now}, ${now} from ${numbered(db.dialect, QUEUED)}`);
    for (let n = 0; n < LONE; n++) await amends.start(lone, {}, { id: `lone-${n}` });
    expect(await workedBefore(amends, done.lone, done.many)).toBeLessThanOrEqual(AT_MOST);
    // The rest of a batch is filled up: no slot stays empty while there is work.
    expect(await amends.worker({ concurrency: CONCURRENCY }).runOnce()).toBe(CONCURRENCY);
  });

  it("[K-23] with one free slot, kinds take turns", async () => {
    const done: string[] = [];
    const note = ({ sagaId }: { readonly sagaId: string }): void => void done.push(sagaId.slice(0, 1));
    const kinds = ["a", "b", "c"].map((name) => saga(name, nothing).step("one", { act: note }));
    const amends = await database.amends({ sagas: kinds });
    for (let n = 0; n < 4; n++) await amends.start(kinds[0] as (typeof kinds)[0], {}, { id: `a-${n}` });
    for (let n = 0; n < 2; n++) await amends.start(kinds[2] as (typeof kinds)[0], {}, { id: `c-${n}` });
    const worker = amends.worker({ concurrency: 1 });
    while ((await worker.runOnce()) > 0);
    expect(done.join("")).toBe("acacaa");
  });

  it("[K-23] calls and handlers do not wait for a long queue of another either", async () => {
    const done = {
      many: [] as unknown[],
      lone: [] as unknown[],
      heard: [] as unknown[],
      few: [] as unknown[],
    };
    const many = defineCall("a-many", { schema: nothing, handle: () => void done.many.push(1) });
    const lone = defineCall("lone", { schema: nothing, handle: () => void done.lone.push(1) });
    const Many = event("Many", nothing);
    const Lone = event("Lone", nothing);
    const [Heard, Missed] = [event("Heard", nothing), event("Missed", nothing)];
    const hearing = (name: string, on: typeof Many | typeof Lone, heard: unknown[]) =>
      handler(name, { on, ok: Heard, err: Missed, handle: () => (heard.push(1), ok(Heard({}))) });
    const amends = await database.amends({
      calls: [many, lone],
      events: [hearing("a-hearing", Many, done.heard), hearing("hearing", Lone, done.few)],
    });
    for (let n = 0; n < 500; n++) await amends.calls.enqueue(many, {});
    for (let n = 0; n < LONE; n++) await amends.calls.enqueue(lone, {});
    await amends.events.publish(Array.from({ length: 500 }, () => Many({})));
    await amends.events.publish(Array.from({ length: LONE }, () => Lone({})));
    const worker = amends.worker({ concurrency: CONCURRENCY });
    while (done.lone.length < LONE || done.few.length < LONE)
      expect(await worker.runOnce()).toBeGreaterThan(0);
    expect(done.many.length).toBeLessThanOrEqual(AT_MOST);
    expect(done.heard.length).toBeLessThanOrEqual(AT_MOST);
  });

  it("[K-23][W-14] a fair claim reads each lane by the index of due work", async () => {
    const db = await database.open();
    const explainer =
      database.name === "sqlite"
        ? explainSqlite(db)
        : await explainPostgres(await database.place(), "generic");
    const { dialect } = db;
    const claims: readonly (readonly [statement: Sql, indexes: readonly string[]])[] = [
      [
        claimSagas(dialect, ["a@1#", "b@1#"], 10, "me", 1_000),
        ["saga_executions_due", "saga_executions_pkey"],
      ],
      [claimSagas(dialect, ["a@1#"], 10, "me", 1_000), ["saga_executions_due", "saga_executions_pkey"]],
      [
        claimEntries(dialect, CALL, { kind: "call", names: ["a", "b"], limit: 10, leaseMs: 1_000 }),
        ["outbox_due", "outbox_pkey"],
      ],
      [
        claimDeliveries(dialect, { deliverable: ["a@1", "b@1"], routable: ["c@1"] }, 10, 1_000),
        ["outbox_due", "outbox_order", "outbox_pkey", "outbox_unrouted"],
      ],
    ];
    for (const [statement, indexes] of claims) {
      expect(await explainer.scans(statement)).toEqual([]);
      const expected =
        database.name === "postgres" ? indexes : indexes.filter((name) => !name.endsWith("_pkey"));
      expect(await explainer.indexes(statement)).toEqual(expected);
    }
    await explainer.end();
  });
});

onDatabase("postgres", (database) => {
  it("[K-05][K-23] no plan makes a fair claim take more than its limit", async () => {
    const db = await database.open();
    for (let n = 0; n < 60; n++)
      await insertRow(db, `row-${String(n).padStart(2, "0")}`, { recoveries: n % 2, name: `kind-${n % 3}` });
    const claims = await underEveryPlan(
      await database.place(),
      () => claimSagas(db.dialect, ["kind-0@1#", "kind-1@1#", "kind-2@1#", "kind-3@1#"], 5, "me", 1_000),
      "select 1 from amends.saga_executions where token > 0",
    );
    for (const { off, returned, changed } of claims) expect([off, returned, changed]).toEqual([off, 5, 5]);
  }, 60_000);
});
