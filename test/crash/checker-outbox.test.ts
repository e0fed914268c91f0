/** Tests of the outbox's checker: whatever it is there for, done by hand to books that were right, must be named. */
import { expect, it } from "vitest";
import { raw } from "../../src/storage/sql.ts";
import { checkOutbox, type OutboxTerms } from "../support/outbox-invariants.ts";
import { FileSink, Visits } from "../support/visits.ts";
import { runLane } from "./lane.ts";
import { openPlace } from "./place.ts";
import { scenarioOf } from "./scenarios/all.ts";
import { spell } from "./spell.ts";
import { onEachYard } from "./yard.ts";

interface Forgery {
  readonly what: string;
  readonly scenario: string;
  /** Statements, with the tables in angle brackets and triggers after `drop`. */
  readonly books: readonly string[];
  readonly found: RegExp;
}

const FREE = "drop outbox_terminal on outbox";
const FORGET = "drop audit_events_kept on audit_events";
const CHANGE = "drop audit_events_unchanged on audit_events";
const EVENT = "insert into <audit_events> (id, type, subject_id, at, payload) select id,";

const forgeries: readonly Forgery[] = [
  {
    what: "[K-13] a database that lets an entry change that is done with",
    scenario: "verified",
    books: [FREE],
    found: /I4: entry .* the database let it change although succeeded/,
  },
  {
    what: "[K-03] an entry that is never due again",
    scenario: "verified",
    books: [FREE, "update <outbox> set status = 'failed'"],
    found: /I5: entry .* it will never be due/,
  },
  {
    what: "[K-07] an entry that was claimed too often",
    scenario: "abandoned",
    books: ["update <outbox> set attempts = 4, token = 4"],
    found: /I10: entry .* it was claimed 4 times of 2/,
  },
  {
    what: "[K-06] a call that no claim allowed",
    scenario: "abandoned",
    books: ["update <outbox> set attempts = 1, token = 1"],
    found: /I2: entry .* 2 calls of erase under 1 claims/,
  },
  {
    what: "[O-07] a success that nobody called for",
    scenario: "abandoned",
    books: ["update <outbox> set status = 'succeeded', last_error = null"],
    found: /I2: entry .* booked as done, but no call of it ever succeeded/,
  },
  {
    what: "[O-19] a payload that is still there",
    scenario: "rectification",
    books: [FREE, "update <outbox> set payload = '[]' where status = 'superseded'"],
    found: /I11: entry .* its payload is still there/,
  },
  {
    what: "[O-19] a personal ref that is still there",
    scenario: "parked",
    books: [FREE, "update <outbox> set ref_value = 'ann@example.org'"],
    found: /O-19: entry .* its personal ref is still there/,
  },
  {
    what: "[O-10] a success without its event",
    scenario: "verified",
    books: [FORGET, "delete from <audit_events> where type = 'ERASURE_STEP_SUCCEEDED'"],
    found: /I9: entry .* ERASURE_STEP_SUCCEEDED is on record 0 times, not 1/,
  },
  {
    what: "[O-12] a verdict that was lost",
    scenario: "verified",
    books: [FORGET, "delete from <audit_events> where type = 'ERASURE_EXTERNAL_VERIFIED'"],
    found: /O-12: entry .* the verdict of its verification was lost/,
  },
  {
    what: "[O-11] a horizon that is not on record",
    scenario: "parked",
    books: [FORGET, "delete from <audit_events> where type = 'ERASURE_EXPIRY_SCHEDULED'"],
    found: /O-11: entry .* ERASURE_EXPIRY_SCHEDULED is on record 0 times, not 1/,
  },
  {
    what: "[O-16] a requeue that is on record and was never made",
    scenario: "abandoned",
    books: [`${EVENT} 'ERASURE_REQUEUED', subject_id, at, payload from <audit_events>`],
    found: /O-16: entry .* ERASURE_REQUEUED is on record 1 times, not 0/,
  },
  {
    what: "[O-13] a completion that never came",
    scenario: "erased",
    books: [FORGET, "delete from <audit_events> where type = 'ERASURE_COMPLETED'"],
    found: /O-13: erase ann: nothing is in the way, and it was never completed/,
  },
  {
    what: "[O-13] a completion that came twice",
    scenario: "erased",
    books: [`${EVENT} type, subject_id, at, payload from <audit_events> where type = 'ERASURE_COMPLETED'`],
    found: /O-13: erase ann: 2 completions of 1 requests/,
  },
  {
    what: "[O-13] a completion that came too early",
    scenario: "erased",
    books: [CHANGE, "update <audit_events> set seq = 0 where type = 'ERASURE_COMPLETED'"],
    found: /O-13: erase ann: it was completed before entry .* had succeeded/,
  },
  {
    what: "[O-13] a completion while an entry is in the way",
    scenario: "abandoned",
    books: [`${EVENT} 'ERASURE_COMPLETED', subject_id, at, '{}' from <audit_events>`],
    found: /O-13: erase ann: it was completed while 1 entries are in the way/,
  },
  {
    what: "[E-06] an event about an entry that was rolled back",
    scenario: "verified",
    books: [FREE, "delete from <outbox>"],
    found: /I9: ERASURE_STEP_SUCCEEDED is on record for an entry that does not exist/,
  },
];

onEachYard((yard) => {
  for (const { what, scenario, books, found } of forgeries) {
    it(`${what} is found by the checker`, async () => {
      const place = await yard.place();
      const { outbox, ...rest } = scenarioOf(scenario);
      const calm = async (): Promise<void> => undefined;
      await runLane({ place, scenario: rest, reach: calm, cancel: calm, leaseMs: 3_000 });
      const database = await openPlace(place);
      const outside = {
        visits: new Visits(`${place.effects}.visits`),
        sink: new FileSink(`${place.effects}.audit`, calm),
      };
      const check = (): Promise<string[]> => checkOutbox(database, outbox as OutboxTerms, outside);
      expect(await check()).toEqual([]);
      for (const statement of books) await database.query(raw(spell(database, statement)));
      expect((await check()).join("\n")).toMatch(found);
      await database.close();
    });
  }
});
