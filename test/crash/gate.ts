/**
 * `npm test` tries each scenario once: on PostgreSQL or on SQLite, by killing the process or by putting it to sleep, at a
 * sixth of its points. `npm run crash` tries every point on both, both ways; `AMENDS_CRASH=<n>` n times.
 */
import type { Place } from "./place.ts";
import type { Point } from "./probe.ts";

const asked = process.env["AMENDS_CRASH"];

export const times: number = Number(asked ?? 1);

/** Is every point tried in every way? */
export const isWhole: boolean = asked !== undefined;

export type Signal = "SIGKILL" | "SIGSTOP";

/** Whether it is this database's turn at the n-th of something that is done on one of them. */
export function isTurn(place: number, dialect: Place["dialect"]): boolean {
  return isWhole || place % 2 === (dialect === "postgres" ? 0 : 1);
}

const SIGNALS: readonly Signal[] = ["SIGKILL", "SIGSTOP"];

/** By which signals the n-th scenario is disturbed, of those that it can be: it is tried on one database in the gate. */
export function signalsFor(
  place: number,
  dialect: Place["dialect"],
  possible: readonly Signal[] = SIGNALS,
): readonly Signal[] {
  if (isWhole) return possible;
  return isTurn(place, dialect) ? [possible[(place >> 1) % possible.length] as Signal] : [];
}

/** By which signal something is disturbed that is tried on both databases. */
export function signalsOn(dialect: Place["dialect"]): readonly Signal[] {
  if (isWhole) return SIGNALS;
  return dialect === "postgres" ? ["SIGKILL"] : ["SIGSTOP"];
}

/** Of all points, one of so many on each database, and at least one; where there are two, never the same on both. */
export function oneOf(every: number, points: readonly Point[], dialect: Place["dialect"]): readonly Point[] {
  const first = dialect === "postgres" ? 0 : Math.min(every / 2, points.length - 1);
  return points.filter((_, place) => isWhole || place % every === first);
}

/** Whoever sleeps with a lock has lost no lease: at such a point one is only ever killed. */
export function chosen(
  points: readonly Point[],
  signal: Signal,
  dialect: Place["dialect"],
): readonly Point[] {
  return oneOf(
    6,
    points.filter(({ locked }) => !locked || signal === "SIGKILL"),
    dialect,
  );
}
