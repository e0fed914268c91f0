/**
 * Which part of the crash matrix runs. `npm test` runs each scenario once: on PostgreSQL or SQLite, with SIGKILL or
 * SIGSTOP, at one sixth of its points. `npm run crash` runs every point on both databases with both signals.
 * `AMENDS_CRASH=<n>` repeats that n times.
 */
import type { Sandbox } from "./sandbox.ts";
import type { CrashPoint } from "./crash-points.ts";

const asked = process.env["AMENDS_CRASH"];

export const repetitions: number = Number(asked ?? 1);

/**
 * `AMENDS_CRASH_POINT="write 3 after"` tries this point alone. Points are numbered in the order of the durable writes,
 * so a point's name repeats a run: no run draws anything at random.
 */
export const onlyPoint: string | undefined = process.env["AMENDS_CRASH_POINT"];

/** True if every point is tried with every signal on both databases. */
export const isExhaustive: boolean = asked !== undefined || onlyPoint !== undefined;

export type Signal = "SIGKILL" | "SIGSTOP";

/** A sampled run tries the n-th case on one database only: even ones on PostgreSQL, odd ones on SQLite. */
export function isSampledOn(index: number, dialect: Sandbox["dialect"]): boolean {
  return isExhaustive || index % 2 === (dialect === "postgres" ? 0 : 1);
}

const SIGNALS: readonly Signal[] = ["SIGKILL", "SIGSTOP"];

/** The signals for the n-th scenario, out of the possible ones. A sampled run uses one signal on one database. */
export function signalsFor(
  index: number,
  dialect: Sandbox["dialect"],
  possible: readonly Signal[] = SIGNALS,
): readonly Signal[] {
  if (isExhaustive) return possible;
  return isSampledOn(index, dialect) ? [possible[(index >> 1) % possible.length] as Signal] : [];
}

/** The signals for a case that runs on both databases. */
export function signalsOn(dialect: Sandbox["dialect"]): readonly Signal[] {
  if (isExhaustive) return SIGNALS;
  return dialect === "postgres" ? ["SIGKILL"] : ["SIGSTOP"];
}

/** One in `every` points, at least one. The two databases use different points if there are two or more. */
export function sampleOneIn(
  every: number,
  points: readonly CrashPoint[],
  dialect: Sandbox["dialect"],
): readonly CrashPoint[] {
  const first = dialect === "postgres" ? 0 : Math.min(every / 2, points.length - 1);
  if (onlyPoint !== undefined) return points.filter(({ name }) => name === onlyPoint);
  return points.filter((_, index) => isExhaustive || index % every === first);
}

/** A process that is stopped inside a transaction holds a lock and loses no lease: there, only SIGKILL is tried. */
export function samplePoints(
  points: readonly CrashPoint[],
  signal: Signal,
  dialect: Sandbox["dialect"],
): readonly CrashPoint[] {
  return sampleOneIn(
    6,
    points.filter(({ locked }) => !locked || signal === "SIGKILL"),
    dialect,
  );
}
