/**
 * `npm test` tries every point once: half of them by killing the process, the other half by putting it to sleep; where a
 * lock is held, sleep would show nothing. `npm run crash` tries every point both ways, `AMENDS_CRASH=<n>` n times.
 */
import type { Point } from "./probe.ts";

const asked = process.env["AMENDS_CRASH"];

export const times: number = Number(asked ?? 1);

export function chosen(points: readonly Point[], signal: "SIGKILL" | "SIGSTOP"): readonly Point[] {
  if (asked !== undefined) return points;
  return points.filter(({ name, locked }) => locked || (isEven(name) ? "SIGKILL" : "SIGSTOP") === signal);
}

function isEven(name: string): boolean {
  return Buffer.from(name).reduce((sum, byte) => sum + byte, 0) % 2 === 0;
}
