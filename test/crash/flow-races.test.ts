/**
 * Three real processes race on the same orders, one of them frozen past its lease again and again, while triggers come
 * twice and events of the chain come from outside, too early, too late and out of order.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Amends } from "amends";
import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { checkFlows, type FlowTerms } from "../support/flow-invariants.ts";
import { RACE_MS, rounds } from "../support/rounds.ts";
import { Visits } from "../support/visits.ts";
import { Charged, Placed, Reserved, termsOf } from "./flows.ts";
import { crowdOf, FLOW_CROWD_LEASE_MS, openRoad } from "./flow-crowd.ts";
import type { RaceOrders } from "./flow-race-worker.ts";
import { pause } from "./office.ts";
import { openPlace, type Place } from "./place.ts";
import { Child, compiled } from "./process.ts";
import { rolesOf } from "./scenario.ts";
import { openWork } from "./standing.ts";
import { onEachYard } from "./yard.ts";

const SIZES = { postgres: rounds(200), sqlite: rounds(60) } as const;
const PROCESSES = 3;
const BATCH = 20;

onEachYard((yard) => {
  const orders = SIZES[yard.dialect];

  it(
    `[F-08][F-14][F-17] of ${orders} orders on ${PROCESSES} processes, with repeated, early, late and stray events, each result is applied once`,
    { timeout: RACE_MS },
    async () => {
      const place = await yard.place();
      const database = await openPlace(place, 3);
      const visits = new Visits(`${place.effects}.visits`);
      const play = crowdOf(openRoad(database, visits));
      const amends = new Amends({ database, ...rolesOf(play) });
      const root = await compiled();
      const crowd = Array.from({ length: PROCESSES }, () => raceOn(root, place));
      await Promise.all(crowd.map(({ reported }) => reported));
      const sleeper = crowd[0] as Child;
      const triggers: string[] = [];
      for (let first = 0; first < orders; first += BATCH) {
        const batch = Array.from({ length: Math.min(BATCH, orders - first) }, (_, n) => `o-${first + n}`);
        const placed = batch.map((order) => Placed({ order }));
        triggers.push(...placed.map(({ id }) => id));
        const early = batch.map((order) => Charged({ order }));
        await amends.events.publish([...placed, ...early]);
        sleeper.kill("SIGSTOP");
        const again = batch.map((order) => Placed({ order }));
        const late = batch.flatMap((order) => [Charged({ order }), Reserved({ order })]);
        await amends.events.publish([...placed, ...late.toReversed(), ...again]);
        await sleep(1.5 * FLOW_CROWD_LEASE_MS);
        sleeper.kill("SIGCONT");
      }
      while ((await openWork(database)) > 0) await pause();
      for (const child of crowd) child.send({ kind: "stop" });
      for (const child of crowd) expect((await child.ended).code).toBe(0);

      const ends = ["completed", "failed"] as const;
      const terms = termsOf(play, ends) as FlowTerms;
      const ledger = async (): Promise<ReadonlyMap<string, number>> => {
        const rows = await database.query(
          sql`select entry, count(*) as times from ${database.dialect.table("ledger")} group by entry`,
        );
        return new Map(rows.map((row) => [row["entry"] as string, Number(row["times"])]));
      };
      expect(await checkFlows(database, terms, { visits, ledger }, true)).toEqual([]);
      const runs = await database.query(
        sql`select process_id, cast(trigger_id as text) as trigger_id, status from ${database.dialect.table("saga_state")} order by process_id, run`,
      );
      // Each trigger has begun one run at most, and the first one of each order exactly one.
      const begun = runs.map((row) => row["trigger_id"] as string);
      expect(new Set(begun).size).toBe(begun.length);
      expect(triggers.filter((id) => !begun.includes(id))).toEqual([]);
      const wrong = runs.filter(
        ({ process_id: id, status }) => (Number(String(id).slice(2)) % 4 === 0) !== (status === "failed"),
      );
      expect(wrong).toEqual([]);
      await amends.close();
      visits.close();
    },
  );
});

function raceOn(root: string, place: Place): Child {
  const orders: RaceOrders = { place };
  return new Child(root, "flow-race-worker.js", orders, RACE_MS);
}
