/** Tests of the outbox checker: each test corrupts correct tables, and the checker must report it. */
import { expect, it } from "vitest";
import { raw } from "../../../src/storage/sql.ts";
import { checkOutboxInvariants, type OutboxExpectations } from "../checkers/outbox-invariants.ts";
import { FileSink, EntryCalls } from "../external-world/entry-calls.ts";
import { runScenario } from "../harness/scenario-run.ts";
import { openSandbox } from "../harness/sandbox.ts";
import { scenarioOf } from "../scenarios/all.ts";
import { corruptionSql } from "./corruption-sql.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";

interface Corruption {
  readonly what: string;
  readonly scenario: string;
  /** Statements that corrupt the tables, as `corruptionSql` takes them. */
  readonly statements: readonly string[];
  readonly expected: RegExp;
}

const ALLOW_CHANGES = "drop outbox_terminal on outbox";
const ALLOW_EVENT_DELETION = "drop audit_events_kept on audit_events";
const ALLOW_EVENT_CHANGES = "drop audit_events_unchanged on audit_events";
const EVENT = "insert into <audit_events> (id, type, subject_id, at, payload) select id,";

const corruptions: readonly Corruption[] = [
  {
    what: "[K-13] a database that accepts a change of an ended entry",
    scenario: "verified",
    statements: [ALLOW_CHANGES],
    expected: /I4: entry .* the database accepted a change of a succeeded row/,
  },
  {
    what: "[K-03] an entry that is never due again",
    scenario: "verified",
    statements: [ALLOW_CHANGES, "update <outbox> set status = 'failed'"],
    expected: /I5: entry .* it will never be due/,
  },
  {
    what: "[K-07] an entry that was claimed too often",
    scenario: "abandoned",
    statements: ["update <outbox> set attempts = 4, token = 4"],
    expected: /I10: entry .* it was claimed 4 times, the budget is 2/,
  },
  {
    what: "[K-06] a call without a claim",
    scenario: "abandoned",
    statements: ["update <outbox> set attempts = 1, token = 1"],
    expected: /I2: entry .* 2 calls of erase under 1 claims/,
  },
  {
    what: "[O-07] a success without a call",
    scenario: "abandoned",
    statements: ["update <outbox> set status = 'succeeded', last_error = null"],
    expected: /I2: entry .* recorded as succeeded, but no call of it succeeded/,
  },
  {
    what: "[O-19] a payload that was not removed",
    scenario: "rectification",
    statements: [ALLOW_CHANGES, "update <outbox> set payload = '[]' where status = 'superseded'"],
    expected: /I11: entry .* its payload was not removed/,
  },
  {
    what: "[O-19] a personal ref that was not scrubbed",
    scenario: "scheduled",
    statements: [ALLOW_CHANGES, "update <outbox> set ref_value = 'ann@example.org'"],
    expected: /O-19: entry .* its personal ref was not scrubbed/,
  },
  {
    what: "[O-10] a success without its event",
    scenario: "verified",
    statements: [ALLOW_EVENT_DELETION, "delete from <audit_events> where type = 'ERASURE_STEP_SUCCEEDED'"],
    expected: /I9: entry .* ERASURE_STEP_SUCCEEDED is recorded 0 times, not 1/,
  },
  {
    what: "[O-12] a missing verdict",
    scenario: "verified",
    statements: [ALLOW_EVENT_DELETION, "delete from <audit_events> where type = 'ERASURE_EXTERNAL_VERIFIED'"],
    expected: /O-12: entry .* the verdict of its verification is missing/,
  },
  {
    what: "[O-11] an expiry that is not recorded",
    scenario: "scheduled",
    statements: [ALLOW_EVENT_DELETION, "delete from <audit_events> where type = 'ERASURE_EXPIRY_SCHEDULED'"],
    expected: /O-11: entry .* ERASURE_EXPIRY_SCHEDULED is recorded 0 times, not 1/,
  },
  {
    what: "[O-16] a recorded requeue that was never made",
    scenario: "abandoned",
    statements: [`${EVENT} 'ERASURE_REQUEUED', subject_id, at, payload from <audit_events>`],
    expected: /O-16: entry .* ERASURE_REQUEUED is recorded 1 times, not 0/,
  },
  {
    what: "[O-13] a missing completion",
    scenario: "erased",
    statements: [ALLOW_EVENT_DELETION, "delete from <audit_events> where type = 'ERASURE_COMPLETED'"],
    expected: /O-13: erase ann: no entry is blocking, but it was never completed/,
  },
  {
    what: "[O-13] a duplicate completion",
    scenario: "erased",
    statements: [
      `${EVENT} type, subject_id, at, payload from <audit_events> where type = 'ERASURE_COMPLETED'`,
    ],
    expected: /O-13: erase ann: there are 2 completions of 1 requests/,
  },
  {
    what: "[O-13] an early completion",
    scenario: "erased",
    statements: [ALLOW_EVENT_CHANGES, "update <audit_events> set seq = 0 where type = 'ERASURE_COMPLETED'"],
    expected: /O-13: erase ann: it was completed before entry .* had succeeded/,
  },
  {
    what: "[O-13] a completion while an entry is blocking",
    scenario: "abandoned",
    statements: [`${EVENT} 'ERASURE_COMPLETED', subject_id, at, '{}' from <audit_events>`],
    expected: /O-13: erase ann: it was completed while 1 entries are blocking/,
  },
  {
    what: "[E-06] an event about an entry that was rolled back",
    scenario: "verified",
    statements: [ALLOW_CHANGES, "delete from <outbox>"],
    expected: /I9: ERASURE_STEP_SUCCEEDED is recorded for an entry that does not exist/,
  },
];

onEachDialect((sandboxes) => {
  for (const { what, scenario, statements, expected } of corruptions) {
    it(`${what} is reported by the checker`, async () => {
      const sandbox = await sandboxes.create();
      const { outbox, ...rest } = scenarioOf(scenario);
      const doNothing = async (): Promise<void> => undefined;
      await runScenario({ sandbox, scenario: rest, atPoint: doNothing, cancel: doNothing, leaseMs: 3_000 });
      const database = await openSandbox(sandbox);
      const recordings = {
        entryCalls: new EntryCalls(`${sandbox.effects}.calls`),
        sink: new FileSink(`${sandbox.effects}.audit`, doNothing),
      };
      const check = (): Promise<string[]> =>
        checkOutboxInvariants(database, outbox as OutboxExpectations, recordings);
      expect(await check()).toEqual([]);
      for (const statement of statements) await database.query(raw(corruptionSql(database, statement)));
      expect((await check()).join("\n")).toMatch(expected);
      await database.close();
      await sandboxes.release(sandbox);
    });
  }
});
