/** Tests of the event flow's checker: whatever it is there for, done by hand to books that were right, must be named. */
import { expect, it } from "vitest";
import type { FlowStatus } from "amends/events";
import { raw } from "../../src/storage/sql.ts";
import { Effects } from "../support/effects.ts";
import { checkFlows, type FlowTerms } from "../support/flow-invariants.ts";
import { termsOf } from "./flows.ts";
import { runLane } from "./lane.ts";
import { openPlace } from "./place.ts";
import { scenarioOf } from "./scenarios/all.ts";
import { spell } from "./spell.ts";
import { World } from "./world.ts";
import { onEachYard } from "./yard.ts";

interface Forgery {
  readonly what: string;
  readonly scenario: string;
  /** Statements, with the tables in angle brackets and triggers after `drop`. */
  readonly books: readonly string[];
  readonly found: RegExp;
}

const FREE = "drop outbox_terminal on outbox";
const REOPEN = "drop saga_state_terminal on saga_state";

const forgeries: readonly Forgery[] = [
  {
    what: "[K-13] a database that lets a run change that has ended",
    scenario: "flow-chain",
    books: [REOPEN],
    found: /I4: the database let a run change that has ended/,
  },
  {
    what: "[F-07] an event that its run has sent and that is not there",
    scenario: "flow-chain",
    books: ["delete from <outbox> where name = 'Charged'"],
    found: /F-07: run \(completed\): it sent .*, which is not there/,
  },
  {
    what: "[F-06] an event that its run does not know of",
    scenario: "flow-chain",
    books: [
      REOPEN,
      "update <saga_state> set trail = replace(trail, (select cast(entry_id as text) from <outbox> where name = 'Done' limit 1), cast(trigger_id as text))",
    ],
    found: /F-07: run \(completed\): Done was sent for it, and it does not know/,
  },
  {
    what: "[F-08] a row that was sent twice",
    scenario: "flow-chain",
    books: [REOPEN, "update <saga_state> set trail = trail || ' ' || trail"],
    found: /F-08: run \(completed\): it sent one row twice/,
  },
  {
    what: "[F-07] a state that its events do not tell of",
    scenario: "flow-refused",
    books: [REOPEN, "update <saga_state> set status = 'stalled'"],
    found: /F-07: run \(stalled\): its events tell that it is failed/,
  },
  {
    what: "[F-07] a step that its events do not tell of",
    scenario: "flow-refused",
    books: [REOPEN, "update <saga_state> set completed_steps = '[\"reserving\"]'"],
    found: /F-07: run \(failed\): it did reserving, its events tell of reserving,charging/,
  },
  {
    what: "[F-12] a step that may have been done and is not undone",
    scenario: "flow-exhausted",
    books: ["delete from <outbox> where name in ('Unship', 'Unshipped')"],
    found: /F-12: run \(failed\): shipping was called, and is not undone/,
  },
  {
    what: "[F-10] a compensation that was left out",
    scenario: "flow-refused",
    books: ["delete from <outbox> where name in ('Uncharge', 'Uncharged')"],
    found: /F-06: run \(failed\): after .* came Unreserve, Unreserved, Failed/,
  },
  {
    what: "[F-14] an end that must not be",
    scenario: "flow-chain",
    books: [REOPEN, "update <saga_state> set status = 'running'"],
    found: /F-14: run \(running\): it should have ended completed/,
  },
  {
    what: "[F-07] what a handler wrote and is not booked",
    scenario: "flow-chain",
    books: ["insert into <ledger> (entry) values ('charged')"],
    found: /F-07: charge wrote 2 times, and is booked 1 times/,
  },
  {
    what: "[F-09] an order without its run",
    scenario: "flow-chain",
    books: ["delete from <saga_state>"],
    found: /F-09: 1 orders, and 0 runs/,
  },
  {
    what: "[F-15] a side effect that was lost",
    scenario: "flow-chain",
    books: ["delete from <outbox> where name = 'Noted'"],
    found: /F-15: Placed for reserve \(succeeded\): Noted was sent 0 times, not 1/,
  },
  {
    what: "[K-06] a call that no claim allowed",
    scenario: "flow-chain",
    books: [FREE, "update <outbox> set token = 0, attempts = 0"],
    found: /I2: Placed for reserve \(succeeded\): 1 calls under 0 claims/,
  },
  {
    what: "[F-17] a delivery that was left behind",
    scenario: "flow-chain",
    books: [FREE, "update <outbox> set status = 'pending' where handler = 'tell'"],
    found: /F-17: Done for tell was left behind/,
  },
  {
    what: "[K-03] a delivery that is never due again",
    scenario: "flow-chain",
    books: [FREE, "update <outbox> set status = 'in_flight' where handler = 'tell'"],
    found: /I5: Done for tell \(in_flight\): it will never be due/,
  },
];

onEachYard((yard) => {
  for (const { what, scenario: name, books, found } of forgeries) {
    it(`${what} is found by the checker`, async () => {
      const place = await yard.place();
      const scenario = scenarioOf(name);
      const calm = async (): Promise<void> => undefined;
      await runLane({ place, scenario, reach: calm, cancel: calm, leaseMs: 3_000 });
      const database = await openPlace(place);
      const world = new World(place, new Effects(place.effects), database, calm, calm);
      const ends: readonly FlowStatus[] = scenario.flowEnds ?? [];
      const terms = termsOf(scenario.play(world), ends) as FlowTerms;
      const check = (): Promise<string[]> => checkFlows(database, terms, world, true);
      expect(await check()).toEqual([]);
      for (const statement of books) await database.query(raw(spell(database, statement)));
      expect((await check()).join("\n")).toMatch(found);
      await database.close();
      world.close();
    });
  }
});
