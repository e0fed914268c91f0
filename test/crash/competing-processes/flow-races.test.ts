/**
 * Three processes race on the same orders. One of them is stopped past its lease repeatedly. Triggers arrive twice, and
 * events of the chain are published from outside, too early, too late and out of order.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Amends } from "amends";
import type { EventValue } from "amends/events";
import { expect, it } from "vitest";
import { sql } from "../../../src/storage/sql.ts";
import { checkFlowInvariants, type FlowExpectations } from "../checkers/flow-invariants.ts";
import { RACE_MS, rounds } from "../../support/rounds.ts";
import { EntryCalls } from "../external-world/entry-calls.ts";
import { Charged, Placed, Reserved, flowExpectations } from "../scenarios/events/order-workload.ts";
import { manyOrders, LEASE_MS, recordingWorld } from "./many-orders.ts";
import type { ManyOrdersInstructions } from "./many-orders-worker.ts";

import { openSandbox, type Sandbox } from "../harness/sandbox.ts";
import { bundled } from "../child-processes/bundle.ts";
import { Child } from "../child-processes/child.ts";
import { definitionsOf } from "../scenarios/scenario.ts";
import { openWork, pause } from "../harness/open-work.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";

const SIZES = { postgres: rounds(200, 2_000), sqlite: rounds(60, 600) } as const;
const PROCESS_COUNT = 3;
const BATCH = 20;

onEachDialect((sandboxes) => {
  const orders = SIZES[sandboxes.dialect];

  it(
    `[F-08][F-14][F-17] ${orders} orders on ${PROCESS_COUNT} processes, with repeated, early, late and unrelated events: each result is applied once`,
    { timeout: RACE_MS },
    async () => {
      const sandbox = await sandboxes.create();
      const database = await openSandbox(sandbox, 3);
      const entryCalls = new EntryCalls(`${sandbox.effects}.calls`);
      const workload = manyOrders(recordingWorld(database, entryCalls));
      const amends = new Amends({ database, ...definitionsOf(workload) });
      const root = await bundled();
      const processes = Array.from({ length: PROCESS_COUNT }, () => startWorker(root, sandbox));
      await Promise.all(processes.map(({ reported }) => reported));
      const stopped = processes[0] as Child;
      const triggers: string[] = [];
      for (let first = 0; first < orders; first += BATCH) {
        const batch = Array.from({ length: Math.min(BATCH, orders - first) }, (_, n) => `o-${first + n}`);
        const placed = batch.map((order) => Placed({ order }));
        triggers.push(...placed.map(({ id }) => id));
        const early = batch.map((order) => Charged({ order }));
        await amends.events.publish([...placed, ...early]);
        stopped.kill("SIGSTOP");
        const again = batch.map((order) => Placed({ order }));
        const late = batch.flatMap((order) => [Charged({ order }), Reserved({ order })]);
        await publishBeside(stopped, amends, [...placed, ...late.toReversed(), ...again]);
        await sleep(1.5 * LEASE_MS);
        stopped.kill("SIGCONT");
      }
      while ((await openWork(database)) > 0) await pause();
      for (const child of processes) child.send({ kind: "stop" });
      for (const child of processes) expect((await child.ended).code).toBe(0);

      const ends = ["completed", "failed"] as const;
      const expectations = flowExpectations(workload, ends) as FlowExpectations;
      const ledger = async (): Promise<ReadonlyMap<string, number>> => {
        const rows = await database.query(
          sql`select entry, count(*) as times from ${database.dialect.table("ledger")} group by entry`,
        );
        return new Map(rows.map((row) => [row["entry"] as string, Number(row["times"])]));
      };
      expect(await checkFlowInvariants(database, expectations, { entryCalls, ledger }, true)).toEqual([]);
      const runs = await database.query(
        sql`select process_id, cast(trigger_id as text) as trigger_id, status from ${database.dialect.table("saga_state")} order by process_id, run`,
      );
      // Each trigger begins at most one run, and the first trigger of each order exactly one.
      const begun = runs.map((row) => row["trigger_id"] as string);
      expect(new Set(begun).size).toBe(begun.length);
      expect(triggers.filter((id) => !begun.includes(id))).toEqual([]);
      const wrong = runs.filter(
        ({ process_id: id, status }) => (Number(String(id).slice(2)) % 4 === 0) !== (status === "failed"),
      );
      expect(wrong).toEqual([]);
      await amends.close();
      entryCalls.close();
    },
  );
});

/** A process that was stopped inside a transaction keeps SQLite locked: it goes on, and the same events are published again. */
async function publishBeside(stopped: Child, amends: Amends, events: readonly EventValue[]): Promise<void> {
  try {
    await amends.events.publish(events);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "DATABASE_UNREACHABLE") throw error;
    stopped.kill("SIGCONT");
    await amends.events.publish(events);
  }
}

function startWorker(root: string, sandbox: Sandbox): Child {
  const instructions: ManyOrdersInstructions = { sandbox };
  return new Child(root, "competing-processes/many-orders-worker", instructions, RACE_MS);
}
