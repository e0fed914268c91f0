/**
 * `npm test` tries a sixth of the points once: half of those on PostgreSQL, half on SQLite, and of each scenario one of
 * the two by killing the process, the other by putting it to sleep. `npm run crash` tries every point on both, both
 * ways; `AMENDS_CRASH=<n>` n times.
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

/** By which signals the n-th scenario is disturbed on this database. */
export function signalsOf(place: number, dialect: Place["dialect"]): readonly Signal[] {
  if (isWhole) return ["SIGKILL", "SIGSTOP"];
  return isTurn(place, dialect) ? ["SIGKILL"] : ["SIGSTOP"];
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
    12,
    points.filter(({ locked }) => !locked || signal === "SIGKILL"),
    dialect,
  );
}
