/** Sagas with limits by key: places follow leases, whichever process dies. */
import { saga } from "amends";
import { sql } from "../../../../src/storage/sql.ts";
import { anything, ID, type Scenario } from "../scenario.ts";
import type { World } from "../../external-world/world.ts";
import { countRows } from "../outbox/erasure-workload.ts";
import { nothing } from "./run-to-end.ts";

const IDS = [ID, "two", "three", "four", "five"];
const RUNNING_MAX = 2;
const BEGUN_MAX = 3;

const EXCEEDED = "exceeded";

/** Limits that are exceeded at this moment. What runs is what has a lease, and what has begun is what is on record. */
async function exceeded({ database }: World): Promise<readonly string[]> {
  const { dialect } = database;
  const now = dialect.now();
  const [row] = await database.query(sql`select
    (select count(*) from ${dialect.table("saga_executions")} where owner is not null and next_attempt_at > ${now}) as running,
    (select coalesce(sum(starts), 0) from ${dialect.table("limit_starts")} where until_at > ${now}) as begun`);
  const found = [
    ["run", Number(row?.["running"]), RUNNING_MAX],
    ["have begun", Number(row?.["begun"]), BEGUN_MAX],
  ] as const;
  return found.filter(([, count, max]) => count > max).map(([what, count]) => `S-40: ${count} sagas ${what}`);
}

const limited: Scenario = {
  name: "limited",
  title:
    "[S-40][S-09] no more sagas of a key run, or begin within a period, than its limits allow, and all of them end, wherever the process crashes",
  ends: ["COMPLETED"],
  isTimed: true,
  workload(world) {
    const look = async (): Promise<void> => {
      if ((await exceeded(world)).length > 0) world.ask(EXCEEDED);
    };
    const order = saga("order", anything, {
      concurrency: { key: () => "acme", limit: RUNNING_MAX },
      rate: { key: () => "acme", limit: BEGUN_MAX, per: 600 },
    })
      .step("reserve", { act: look, compensate: nothing })
      .sleep("rest", 30)
      .step("ship", { act: look });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        const runs = await amends.startMany(
          order,
          IDS.map((id) => ({ input: {}, id })),
        );
        await Promise.all(runs.map((run) => run.result()));
      },
      async holds() {
        const before = world.timesAsked(EXCEEDED);
        const atCalls = before === 0 ? [] : [`S-40: a limit was exceeded during ${before} calls`];
        return [...(await exceeded(world)), ...atCalls];
      },
      async check(ended) {
        const found = await countRows(world.database, "saga_executions", "status = 'COMPLETED'");
        return found === (ended === undefined ? 0 : IDS.length)
          ? []
          : [`S-40: ${found} of ${IDS.length} sagas have ended`];
      },
    };
  },
};

export const limits: readonly Scenario[] = [limited];
