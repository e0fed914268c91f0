/** Starts one process after another on a saga that kills each, until one survives or enough have died. */
import { Effects } from "../support/effects.ts";
import { checkInvariants } from "../support/invariants.ts";
import { openPlace } from "./place.ts";
import { startChild } from "./process.ts";
import { ID } from "./scenario.ts";
import { poison, POISON_RECOVERIES } from "./scenarios/poison.ts";
import type { Yard } from "./yard.ts";
import { raw } from "../../src/storage/sql.ts";

/** Twice as many as a saga that is counted right can kill. */
const KILLS_MAX = 2 * (POISON_RECOVERIES + 1);

export interface Poisoning {
  readonly kills: number;
  readonly calls: number;
  readonly status: unknown;
  readonly violations: readonly string[];
}

export async function killByPoison(yard: Yard, root?: string): Promise<Poisoning> {
  const place = await yard.place();
  let kills = 0;
  for (; kills < KILLS_MAX; kills++) {
    const child = await startChild({ scenario: poison.name, signal: undefined, lanes: [{ place }] }, root);
    const { signal, errors } = await child.ended;
    if (signal === "SIGKILL") continue;
    if (errors !== "") throw new Error(errors);
    break;
  }
  const database = await openPlace(place);
  const effects = new Effects(place.effects);
  const violations = await checkInvariants(database, effects, { recoveryMax: POISON_RECOVERIES });
  const table = database.dialect.table("saga_executions").text;
  const [row] = await database.query(raw(`select status from ${table}`));
  await database.close();
  return { kills, calls: effects.calls(`${ID}:charge:act`), status: row?.["status"], violations };
}
