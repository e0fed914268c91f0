/**
 * `npm test` tries every other point once: half of those on PostgreSQL, half on SQLite, and of each scenario one of the
 * two by killing the process, the other by putting it to sleep. `npm run crash` tries every point on both, both ways;
 * `AMENDS_CRASH=<n>` n times.
 */
import type { Place } from "./place.ts";
import type { Point } from "./probe.ts";

const asked = process.env["AMENDS_CRASH"];

export const times: number = Number(asked ?? 1);

/** Is every point tried in every way? */
export const isWhole: boolean = asked !== undefined;

export type Signal = "SIGKILL" | "SIGSTOP";

/** Whether it is this database's turn at the n-th of something. */
export function isTurn(place: number, dialect: Place["dialect"]): boolean {
  return isWhole || place % 2 === (dialect === "postgres" ? 0 : 1);
}

/** By which signals the n-th scenario is disturbed on this database. */
export function signalsOf(place: number, dialect: Place["dialect"]): readonly Signal[] {
  if (isWhole) return ["SIGKILL", "SIGSTOP"];
  return isTurn(place, dialect) ? ["SIGKILL"] : ["SIGSTOP"];
}

/** Every fourth on each database. Whoever sleeps with a lock has lost no lease: at such a point one is only ever killed. */
export function chosen(
  points: readonly Point[],
  signal: Signal,
  dialect: Place["dialect"],
): readonly Point[] {
  const first = dialect === "postgres" ? 0 : 2;
  return points
    .filter(({ locked }) => !locked || signal === "SIGKILL")
    .filter((_, place) => isWhole || place % 4 === first);
}
