/** Of the due sagas of one kind, those of a higher priority are claimed first, and none waits forever. */
import { saga } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { claimSagas } from "../../src/sagas/journal/queries.ts";
import { selectDue } from "../../src/sagas/read/figure-queries.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite } from "../conformance/plans.ts";
import { onEachDatabase } from "../support/databases.ts";
import { numbered } from "../support/numbered.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";

const nothing = z.object({});
const MINUTE_MS = 60_000;

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  /** Sagas that are claimed one by one, and the order in which they ran. */
  async function scene() {
    const clock = virtualClock();
    const order: string[] = [];
    const one = saga("one", nothing).step("only", { act: ({ sagaId }) => void order.push(sagaId) });
    const amends = await database.amends({ sagas: [one], clock });
    const runAll = async (): Promise<void> => {
      const worker = amends.worker({ concurrency: 1 });
      while ((await worker.runOnce()) > 0);
    };
    const start = (id: string, options: object = {}) => amends.start(one, {}, { id, ...options });
    return { clock, order, amends, start, runAll };
  }

  it("[S-39] a higher priority is claimed first", async () => {
    const { order, start, runAll, amends } = await scene();
    await start("plain");
    await start("urgent", { priority: 10 });
    await start("middle", { priority: 4 });
    await runAll();
    expect(order).toEqual(["urgent", "middle", "plain"]);
    expect((await amends.inspect("middle"))?.priority).toBe(4);
    expect((await amends.inspect("plain"))?.priority).toBe(0);
  });

  it("[S-39] priority n counts like n minutes of waiting: nothing starves", async () => {
    const { clock, order, start, runAll } = await scene();
    await start("waited 4m59s");
    clock.jump(1_000);
    await start("waited 4m58s");
    clock.jump(5 * MINUTE_MS - 2_000);
    // It counts as due since one second before the first one.
    await start("priority 5", { priority: 5 });
    await start("priority 4", { priority: 4 });
    clock.jump(1);
    await runAll();
    expect(order).toEqual(["priority 5", "waited 4m59s", "waited 4m58s", "priority 4"]);
  });

  it("[S-39] a priority never opens a gate: a saga that waits is not claimed before its time", async () => {
    const { clock, order, start, runAll } = await scene();
    await start("later", { priority: 10, delay: "2m" });
    await start("plain");
    await runAll();
    expect(order).toEqual(["plain"]);
    clock.jump(2 * MINUTE_MS);
    await start("fresh");
    await runAll();
    expect(order).toEqual(["plain", "later", "fresh"]);
  });

  it("[S-39][K-23] fairness between kinds holds whatever their priorities are", async () => {
    const order: string[] = [];
    const note = ({ sagaId }: { readonly sagaId: string }): void => void order.push(sagaId.slice(0, 1));
    const [a, b] = ["a", "b"].map((name) => saga(name, nothing).step("only", { act: note }));
    if (!a || !b) throw new Error("both kinds are needed");
    const amends = await database.amends({ sagas: [a, b] });
    for (let n = 0; n < 4; n++) await amends.start(a, {}, { id: `a-${n}`, priority: 10 });
    for (let n = 0; n < 2; n++) await amends.start(b, {}, { id: `b-${n}` });
    const worker = amends.worker({ concurrency: 1 });
    while ((await worker.runOnce()) > 0);
    expect(order.join("")).toBe("ababaa");
  });

  it("[S-39] a saga with a priority runs at once in a process that has a free slot", async () => {
    const one = saga("one", nothing).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [one] });
    await database.worker(amends, { poll: "1h" });
    const run = await amends.start(one, {}, { priority: 3 });
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(amends.counters.claimed).toBe(0);
  });
});

/** Rows that no saga has written: they are there to be counted on. */
onEachDatabase((database) => {
  it("[S-39][W-14] the claim reads the index of due work and nothing else, among 100,000 sagas of all priorities", async () => {
    const db = await database.open();
    const { dialect } = db;
    const table = dialect.table("saga_executions");
    const at = dialect.plusMs(dialect.now(), sql`(r.n * 100 - 5000000)`);
    await db.query(sql`insert into ${table} (id, name, kind, status, context, plan, priority, next_attempt_at, created_at, updated_at)
      select 'saga-' || r.n, 'a', 'a@1#' || (r.n % 3), case r.n % 4 when 0 then 'PENDING' else 'COMPLETED' end, '{"input":{}}', 'one', r.n % 11, ${at}, ${at}, ${at}
      from ${numbered(dialect, 100_000)}`);
    await db.query(raw("analyze"));
    const explainer =
      database.name === "sqlite"
        ? explainSqlite(db)
        : await explainPostgres(await database.place(), "generic");
    for (const lanes of [["a@1#0"], ["a@1#0", "a@1#1"]]) {
      const claim = claimSagas(dialect, lanes, 10, "me", 1_000);
      expect(await explainer.scans(claim)).toEqual([]);
      expect(await explainer.indexes(claim)).toContain("saga_executions_due");
    }
    expect(await explainer.indexes(selectDue(dialect, 10))).toEqual(["saga_executions_due"]);
    await explainer.end();
    // Of each lane in turn, those that count as due longest.
    const place = dialect.epochMs(raw("next_attempt_at"));
    const due = sql`status = 'PENDING' and kind = 'a@1#0' and next_attempt_at <= ${dialect.now()}`;
    const expected = await db.query(
      sql`select id from ${table} where ${due} order by ${place} - priority * 60000, id limit 10`,
    );
    const claimed = await db.query(claimSagas(dialect, ["a@1#0"], 10, "me", 1_000));
    expect(new Set(claimed.map(({ id }) => id))).toEqual(new Set(expected.map(({ id }) => id)));
  });
});
