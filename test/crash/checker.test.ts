/** Tests of the checker: whatever it is there for, done by hand to books that were right, must be named. */
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { raw } from "../../src/storage/sql.ts";
import { Effects, type Effect } from "../support/effects.ts";
import { checkInvariants } from "../support/invariants.ts";
import { runLane } from "./lane.ts";
import { openPlace } from "./place.ts";
import { scenarioOf } from "./scenarios/all.ts";
import { onEachYard } from "./yard.ts";

interface Forgery {
  readonly what: string;
  readonly scenario: "happy" | "declined" | "elsewhere";
  /** Statements, with the tables in angle brackets. */
  readonly books?: readonly string[];
  readonly world?: (effects: readonly Effect[]) => readonly Effect[];
  readonly found: RegExp;
}

const asItWas = (effects: readonly Effect[]): readonly Effect[] => effects;

const LINE =
  "insert into <saga_logs> (saga_id, id, token, step_name, action, status, created_at) select saga_id,";

const forgeries: readonly Forgery[] = [
  {
    what: "[K-13] a database that lets an ended saga change",
    scenario: "happy",
    books: ["drop trigger"],
    found: /I4: .* the database let a row change that is COMPLETED/,
  },
  {
    what: "[S-15] a line that is missing",
    scenario: "declined",
    books: ["delete from <saga_logs> where id = 3"],
    found: /I9: .* stands where line 3 should/,
  },
  {
    what: "[K-06] a line under a token that no longer held",
    scenario: "declined",
    books: [`${LINE} 99, 0, 'pack', 'compensate', 'COMPLETED', created_at from <saga_logs> where id = 2`],
    found: /I3: .* although claim 1 held/,
  },
  {
    what: "[S-16] a line after the end",
    scenario: "happy",
    books: [`${LINE} 5, 1, 'ship', 'act', 'COMPLETED', created_at from <saga_logs> where id = 2`],
    found: /I4: .* was written after the saga was COMPLETED/,
  },
  {
    what: "[S-08] a status that its log does not add up to",
    scenario: "happy",
    books: ["drop trigger", "update <saga_executions> set status = 'FAILED'"],
    found: /I9: .* its row says FAILED, its log adds up to COMPLETED/,
  },
  {
    what: "[K-03] an open saga that nobody holds and that is never due",
    scenario: "happy",
    books: [
      "drop trigger",
      "delete from <saga_logs> where id = 4",
      "update <saga_executions> set status = 'RUNNING', version = 3",
    ],
    found: /I5: .* it is RUNNING and neither held nor due/,
  },
  {
    what: "[S-28] an event that left without its step",
    scenario: "happy",
    books: ["update <outbox> set name = 'refunded' where name = 'shipped'"],
    found: /S-28: event one refunded is in the outbox, but its step is not booked/,
  },
  {
    what: "[S-28] an event that was lost",
    scenario: "happy",
    books: ["delete from <outbox> where name = 'shipped'"],
    found: /S-28: event one shipped is in the outbox 0 times/,
  },
  {
    what: "[S-08] a booked step that never happened",
    scenario: "happy",
    world: (effects) => effects.filter(({ step }) => step !== "charge"),
    found: /I2: one:charge:act: booked as done, but the world was never called/,
  },
  {
    what: "[S-07] a call that was never begun in the books",
    scenario: "happy",
    world: (effects) => [...effects, { ...(effects[0] as Effect), attempt: 2 }],
    found: /S-07: one:reserve:act: call 2 was made/,
  },
  {
    what: "[S-10] a FAILED saga of which something is left",
    scenario: "declined",
    world: (effects) => effects.filter(({ step, action }) => step !== "pack" || action === "act"),
    found: /I6: one:pack:act: FAILED, but the world was not undone/,
  },
  {
    what: "[S-12] an undo beside its act",
    scenario: "declined",
    world: (effects) => {
      const end = effects.find(({ step, phase }) => step === "pack" && phase === "ended") as Effect;
      return [...effects.filter((effect) => effect !== end), end];
    },
    found: /S-12: one:pack:undo: the undo began while its act was still running/,
  },
  {
    what: "[S-20] a fallback that acts although what it stands in for is left",
    scenario: "elsewhere",
    world: (effects) => effects.filter(({ step, action }) => step !== "charge" || action === "act"),
    found: /I6: one:charge:act: COMPLETED, but the world was not undone/,
  },
  {
    what: "[S-20] a fallback that begins before what it stands in for is undone",
    scenario: "elsewhere",
    books: [
      "delete from <saga_logs> where id >= 8",
      `${LINE} 8, 1, 'invoice', 'act', 'STARTED', created_at from <saga_logs> where id = 2`,
    ],
    found: /S-20: .* begins a fallback, but charge may have happened and was not undone/,
  },
];

onEachYard((yard) => {
  for (const { what, scenario, books = [], world = asItWas, found } of forgeries) {
    it(`${what} is found by the checker`, async () => {
      const place = await yard.place();
      await runLane({
        place,
        scenario: scenarioOf(scenario),
        reach: async () => undefined,
        cancel: async () => undefined,
      });
      const database = await openPlace(place);
      const effects = new Effects(place.effects).read();
      expect(await checkInvariants(database, effects)).toEqual([]);
      for (const statement of books) await database.query(raw(spell(database, statement)));
      expect((await checkInvariants(database, world(effects))).join("\n")).toMatch(found);
      await database.close();
    });
  }
});

function spell({ dialect }: Database, statement: string): string {
  const table = (name: string): string => dialect.table(name).text;
  if (statement === "drop trigger") {
    return dialect.name === "sqlite"
      ? `drop trigger ${table("saga_executions_terminal")}`
      : `drop trigger saga_executions_terminal on ${table("saga_executions")}`;
  }
  return statement.replaceAll(/<(\w+)>/g, (_, name: string) => table(name));
}
