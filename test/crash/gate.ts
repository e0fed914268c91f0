/**
 * `npm test` tries every other point once: on one of the databases, half of them by killing the process and half by
 * putting it to sleep. `npm run crash` tries every point on both, both ways; `AMENDS_CRASH=<n>` n times.
 */
import type { Place } from "./place.ts";
import type { Point } from "./probe.ts";

const asked = process.env["AMENDS_CRASH"];

export const times: number = Number(asked ?? 1);

/** Is every point tried in every way? */
export const isWhole: boolean = asked !== undefined;

type Signal = "SIGKILL" | "SIGSTOP";

/** Who tries the first point of a scenario, the second, and so on; then they begin again. */
const TURNS: readonly (`${Place["dialect"]} ${Signal}` | undefined)[] = [
  "postgres SIGKILL",
  "sqlite SIGSTOP",
  undefined,
  "postgres SIGSTOP",
  undefined,
  "sqlite SIGKILL",
  undefined,
];

export function chosen(
  points: readonly Point[],
  signal: Signal,
  dialect: Place["dialect"],
): readonly Point[] {
  if (isWhole) return points;
  const mine = `${dialect} ${signal}`;
  return points.filter(({ locked }, place) => {
    // Whoever sleeps with a lock has lost no lease: such a point is only ever killed at.
    const killers = TURNS.filter((one) => one?.endsWith("SIGKILL"));
    const turns = locked ? killers : TURNS;
    return turns[place % turns.length] === mine;
  });
}

/** Commits that are cut off in the process itself: every other one on each database, unless all are asked for. */
export function everyOther(points: readonly Point[], dialect: Place["dialect"]): readonly Point[] {
  return isWhole ? points : points.filter((_, place) => (place % 2 === 0) === (dialect === "postgres"));
}
