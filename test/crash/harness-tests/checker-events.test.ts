/** Tests of the event flow checker: each test corrupts correct tables, and the checker must report it. */
import { expect, it } from "vitest";
import type { FlowStatus } from "amends/events";
import { raw } from "../../../src/storage/sql.ts";
import { Effects } from "../external-world/effects.ts";
import { checkFlowInvariants, type FlowExpectations } from "../checkers/flow-invariants.ts";
import { flowExpectations } from "../scenarios/events/order-workload.ts";
import { runScenario } from "../harness/scenario-run.ts";
import { openSandbox } from "../harness/sandbox.ts";
import { scenarioOf } from "../scenarios/all.ts";
import { corruptionSql } from "./corruption-sql.ts";
import { World } from "../external-world/world.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";

interface Corruption {
  readonly what: string;
  readonly scenario: string;
  /** Statements that corrupt the tables, as `corruptionSql` takes them. */
  readonly statements: readonly string[];
  readonly expected: RegExp;
}

const ALLOW_ENTRY_CHANGES = "drop outbox_terminal on outbox";
const ALLOW_RUN_CHANGES = "drop saga_state_terminal on saga_state";

const corruptions: readonly Corruption[] = [
  {
    what: "[K-13] a database that accepts a change of an ended run",
    scenario: "flow-chain",
    statements: [ALLOW_RUN_CHANGES],
    expected: /I4: the database accepted a change of a run that has ended/,
  },
  {
    what: "[F-07] an event that its run has sent and that does not exist",
    scenario: "flow-chain",
    statements: ["delete from <outbox> where name = 'Charged'"],
    expected: /F-07: run \(completed\): it sent .*, which does not exist/,
  },
  {
    what: "[F-06] an event that is not in the trail of its run",
    scenario: "flow-chain",
    statements: [
      ALLOW_RUN_CHANGES,
      "update <saga_state> set trail = replace(trail, (select cast(entry_id as text) from <outbox> where name = 'Done' limit 1), cast(trigger_id as text))",
    ],
    expected: /F-07: run \(completed\): Done was sent for it, but is not in its trail/,
  },
  {
    what: "[F-08] a row that was sent twice",
    scenario: "flow-chain",
    statements: [ALLOW_RUN_CHANGES, "update <saga_state> set trail = trail || ' ' || trail"],
    expected: /F-08: run \(completed\): it sent one row twice/,
  },
  {
    what: "[F-07] a status that does not follow from the events",
    scenario: "flow-refused",
    statements: [ALLOW_RUN_CHANGES, "update <saga_state> set status = 'stalled'"],
    expected: /F-07: run \(stalled\): by its events it is failed/,
  },
  {
    what: "[F-07] completed steps that do not follow from the events",
    scenario: "flow-refused",
    statements: [ALLOW_RUN_CHANGES, "update <saga_state> set completed_steps = '[\"reserving\"]'"],
    expected:
      /F-07: run \(failed\): its row says that reserving completed, its events say reserving,charging/,
  },
  {
    what: "[F-12] a step that may have happened and was not undone",
    scenario: "flow-exhausted",
    statements: ["delete from <outbox> where name in ('Unship', 'Unshipped')"],
    expected: /F-12: run \(failed\): shipping was called but not undone/,
  },
  {
    what: "[F-10] a missing compensation",
    scenario: "flow-refused",
    statements: ["delete from <outbox> where name in ('Uncharge', 'Uncharged')"],
    expected: /F-06: run \(failed\): after .* came Unreserve, Unreserved, Failed/,
  },
  {
    what: "[F-14] an end status that is not allowed",
    scenario: "flow-chain",
    statements: [ALLOW_RUN_CHANGES, "update <saga_state> set status = 'running'"],
    expected: /F-14: run \(running\): it must end completed/,
  },
  {
    what: "[F-07] a handler's write without its outcome",
    scenario: "flow-chain",
    statements: ["insert into <ledger> (entry) values ('charged')"],
    expected: /F-07: charge wrote 2 times, but 1 successes of it are recorded/,
  },
  {
    what: "[F-09] an order without its run",
    scenario: "flow-chain",
    statements: ["delete from <saga_state>"],
    expected: /F-09: there are 1 orders, but 0 runs/,
  },
  {
    what: "[F-15] a lost side event",
    scenario: "flow-chain",
    statements: ["delete from <outbox> where name = 'Noted'"],
    expected: /F-15: Placed for reserve \(succeeded\): Noted was sent 0 times, not 1/,
  },
  {
    what: "[K-06] a call without a claim",
    scenario: "flow-chain",
    statements: [ALLOW_ENTRY_CHANGES, "update <outbox> set token = 0, attempts = 0"],
    expected: /I2: Placed for reserve \(succeeded\): 1 calls under 0 claims/,
  },
  {
    what: "[F-17] a delivery that is still open",
    scenario: "flow-chain",
    statements: [ALLOW_ENTRY_CHANGES, "update <outbox> set status = 'pending' where handler = 'notify'"],
    expected: /F-17: Done for notify is still open/,
  },
  {
    what: "[K-03] a delivery that is never due again",
    scenario: "flow-chain",
    statements: [ALLOW_ENTRY_CHANGES, "update <outbox> set status = 'in_flight' where handler = 'notify'"],
    expected: /I5: Done for notify \(in_flight\): it will never be due/,
  },
];

onEachDialect((sandboxes) => {
  for (const { what, scenario: name, statements, expected } of corruptions) {
    it(`${what} is reported by the checker`, async () => {
      const sandbox = await sandboxes.create();
      const scenario = scenarioOf(name);
      const doNothing = async (): Promise<void> => undefined;
      await runScenario({ sandbox, scenario, atPoint: doNothing, cancel: doNothing, leaseMs: 3_000 });
      const database = await openSandbox(sandbox);
      const world = new World(sandbox, new Effects(sandbox.effects), database, doNothing, doNothing);
      const ends: readonly FlowStatus[] = scenario.flowEnds ?? [];
      const expectations = flowExpectations(scenario.workload(world), ends) as FlowExpectations;
      const check = (): Promise<string[]> => checkFlowInvariants(database, expectations, world, true);
      expect(await check()).toEqual([]);
      for (const statement of statements) await database.query(raw(corruptionSql(database, statement)));
      expect((await check()).join("\n")).toMatch(expected);
      await database.close();
      world.close();
      await sandboxes.release(sandbox);
    });
  }
});
