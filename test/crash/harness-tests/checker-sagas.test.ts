/** Tests of the saga checker: each test corrupts correct tables or recorded effects, and the checker must report it. */
import { expect, it } from "vitest";
import { raw } from "../../../src/storage/sql.ts";
import { Effects, type Effect } from "../external-world/effects.ts";
import { checkSagaInvariants } from "../checkers/saga-invariants.ts";
import { runScenario } from "../harness/scenario-run.ts";
import { openSandbox } from "../harness/sandbox.ts";
import { scenarioOf } from "../scenarios/all.ts";
import { corruptionSql } from "./corruption-sql.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";

interface Corruption {
  readonly what: string;
  readonly scenario: "completed" | "declined" | "fallback" | "end-failed";
  /** Statements that corrupt the tables, as `corruptionSql` takes them. */
  readonly statements?: readonly string[];
  /** Corrupts the recorded effects. */
  readonly alter?: (effects: readonly Effect[]) => readonly Effect[];
  readonly expected: RegExp;
}

const unchanged = (effects: readonly Effect[]): readonly Effect[] => effects;

const DROP_TRIGGER = "drop saga_executions_terminal on saga_executions";
const LINE =
  "insert into <saga_logs> (saga_id, id, token, step_name, action, status, created_at) select saga_id,";

const corruptions: readonly Corruption[] = [
  {
    what: "[K-13] a database that accepts a change of an ended saga",
    scenario: "completed",
    statements: [DROP_TRIGGER],
    expected: /I4: .* the database accepted a change of a COMPLETED row/,
  },
  {
    what: "[S-15] a missing line",
    scenario: "declined",
    statements: ["delete from <saga_logs> where id = 3"],
    expected: /I9: .* is at the position of line 3/,
  },
  {
    what: "[K-06] a line under a lost token",
    scenario: "declined",
    statements: [
      `${LINE} 99, 0, 'pack', 'compensate', 'COMPLETED', created_at from <saga_logs> where id = 2`,
    ],
    expected: /I3: .* although claim \d+ held/,
  },
  {
    what: "[S-16] a line after the end of the saga",
    scenario: "completed",
    statements: [`${LINE} 5, 1, 'ship', 'act', 'COMPLETED', created_at from <saga_logs> where id = 2`],
    expected: /I4: .* was written after the saga was COMPLETED/,
  },
  {
    what: "[S-08] a status that does not follow from the log",
    scenario: "completed",
    statements: [DROP_TRIGGER, "update <saga_executions> set status = 'FAILED'"],
    expected: /I9: .* its row says FAILED, its log adds up to COMPLETED/,
  },
  {
    what: "[K-03] an open saga that is neither claimed nor due",
    scenario: "completed",
    statements: [
      DROP_TRIGGER,
      "delete from <saga_logs> where id = 4",
      "update <saga_executions> set status = 'RUNNING', version = 3",
    ],
    expected: /I5: .* it is RUNNING and neither held nor due/,
  },
  {
    what: "[S-28] an event without the outcome of its step",
    scenario: "completed",
    statements: ["update <outbox> set name = 'refunded' where name = 'shipped'"],
    expected: /S-28: event one refunded is in the outbox, but the outcome of its step is not recorded/,
  },
  {
    what: "[S-28] a lost event",
    scenario: "completed",
    statements: ["delete from <outbox> where name = 'shipped'"],
    expected: /S-28: event one shipped is in the outbox 0 times/,
  },
  {
    what: "[S-08] a completed step that was never called",
    scenario: "completed",
    alter: (effects) => effects.filter(({ step }) => step !== "charge"),
    expected: /I2: one:charge:act: recorded as done, but no call of it succeeded/,
  },
  {
    what: "[S-07] a call that the log did not start",
    scenario: "completed",
    alter: (effects) => [...effects, { ...(effects[0] as Effect), attempt: 2 }],
    expected: /S-07: one:reserve:act: call 2 was made/,
  },
  {
    what: "[S-10] a FAILED saga with a step that was not undone",
    scenario: "declined",
    alter: (effects) => effects.filter(({ step, action }) => step !== "pack" || action === "act"),
    expected: /I6: one:pack:act: FAILED, but no undo followed/,
  },
  {
    what: "[S-12] an undo beside its act",
    scenario: "declined",
    alter: (effects) => {
      const end = effects.find(({ step, phase }) => step === "pack" && phase === "ended") as Effect;
      return [...effects.filter((effect) => effect !== end), end];
    },
    expected: /S-12: one:pack:undo: the undo began while its act was still running/,
  },
  {
    what: "[S-46] an undo after what follows the end",
    scenario: "end-failed",
    alter: (effects) => {
      const late = effects.filter(({ step, action }) => step === "reserve" && action === "compensate");
      return [...effects.filter((effect) => !late.includes(effect)), ...late];
    },
    expected: /S-46: one:reserve:undo: the undo was called after what follows the end/,
  },
  {
    what: "[S-20] a fallback that acts although the step that it replaces was not undone",
    scenario: "fallback",
    alter: (effects) => effects.filter(({ step, action }) => step !== "charge" || action === "act"),
    expected: /I6: one:charge:act: COMPLETED, but no undo followed/,
  },
  {
    what: "[S-20] a fallback that starts before the step that it replaces is undone",
    scenario: "fallback",
    statements: [
      "delete from <saga_logs> where id >= 8",
      `${LINE} 8, 1, 'invoice', 'act', 'STARTED', created_at from <saga_logs> where id = 2`,
    ],
    expected: /S-20: .* begins a fallback, but charge may have happened and was not undone/,
  },
];

onEachDialect((sandboxes) => {
  for (const { what, scenario, statements = [], alter = unchanged, expected } of corruptions) {
    it(`${what} is reported by the checker`, async () => {
      const sandbox = await sandboxes.create();
      await runScenario({
        sandbox,
        scenario: scenarioOf(scenario),
        atPoint: async () => undefined,
        cancel: async () => undefined,
      });
      const database = await openSandbox(sandbox);
      const effects = new Effects(sandbox.effects).read();
      expect(await checkSagaInvariants(database, effects)).toEqual([]);
      for (const statement of statements) await database.query(raw(corruptionSql(database, statement)));
      expect((await checkSagaInvariants(database, alter(effects))).join("\n")).toMatch(expected);
      await database.close();
      await sandboxes.release(sandbox);
    });
  }
});
