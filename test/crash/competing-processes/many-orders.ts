/** Many orders for several processes that race on them; some orders compensate. */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "../../../src/storage/sql.ts";
import type { Database } from "../../../src/storage/database.ts";
import type { EntryCalls } from "../external-world/entry-calls.ts";
import { orderWorkload, type OrderWorld } from "../scenarios/events/order-workload.ts";
import type { Workload } from "../scenarios/scenario.ts";

/** Short, so that a process that is stopped for a moment loses its claims. */
export const LEASE_MS = 300;

/** Records every call, and has no crash points. */
export function recordingWorld(database: Database, entryCalls: EntryCalls): OrderWorld {
  return {
    database,
    async write(tx, entry) {
      await database
        .join(tx)
        .query(sql`insert into ${database.dialect.table("ledger")} (entry) values (${entry})`);
    },
    async callForEntry(_who, method, { key, attempt }, work) {
      entryCalls.append({ phase: "begun", key, method, attempt, atMs: Date.now() });
      const value = await work();
      entryCalls.append({ phase: "ended", key, method, attempt, atMs: Date.now(), isFine: true });
      return value;
    },
  };
}

/** Every fourth order fails at its last step; the first attempt of every seventh order throws. */
export function manyOrders(world: OrderWorld): Workload {
  const number = (order: string): number => Number(order.slice(2));
  return orderWorkload(world, {
    behaviors: {
      async reserve({ order, attempt }) {
        await sleep(2);
        if (number(order) % 7 === 0 && attempt === 1) throw new Error("not now");
        return true;
      },
      async ship({ order }) {
        await sleep(5);
        return number(order) % 4 !== 0;
      },
    },
  });
}
