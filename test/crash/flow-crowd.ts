/** Many orders at once, of which some turn back, for several processes that race on them. */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "../../src/storage/sql.ts";
import type { Database } from "../../src/storage/database.ts";
import type { Visits } from "../support/visits.ts";
import { journey, type Road } from "./flows.ts";
import type { Play } from "./scenario.ts";

/** Short: a process that is frozen for a moment has lost what it held. */
export const FLOW_CROWD_LEASE_MS = 300;

/** Writes down every call, and stops nowhere. */
export function openRoad(database: Database, visits: Visits): Road {
  return {
    database,
    async write(tx, entry) {
      await database
        .join(tx)
        .query(sql`insert into ${database.dialect.table("ledger")} (entry) values (${entry})`);
    },
    async visit(_who, method, { key, attempt }, work) {
      visits.append({ phase: "begun", key, method, attempt, atMs: Date.now() });
      const value = await work();
      visits.append({ phase: "ended", key, method, attempt, atMs: Date.now(), isFine: true });
      return value;
    },
  };
}

/** Every fourth order turns back at its last step, every seventh try of one throws. */
export function crowdOf(road: Road): Play {
  const number = (order: string): number => Number(order.slice(2));
  return journey(road, {
    wills: {
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
