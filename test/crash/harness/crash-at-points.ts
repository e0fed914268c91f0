/**
 * Runs a scenario once to discover its crash points. Then it kills or stops the process at each point, lets another
 * worker recover, and returns every violation in words.
 */
import { RecoveryWorkers } from "./recovery-workers.ts";
import { isExhaustive } from "./sampling.ts";
import { LEASE_MS } from "./scenario-run.ts";
import type { ChildReport } from "../child-processes/messages.ts";
import type { Sandbox } from "./sandbox.ts";
import type { CrashPoint } from "./crash-points.ts";
import { startChild } from "../child-processes/child.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import type { SandboxPool } from "./sandbox-pool.ts";

/** Runs per process. Each run uses two or three connections, and a PostgreSQL server has a hundred by default. */
const RUNS_MAX = 20;
const TRIES_MAX = 3;

export interface CrashOptions {
  readonly sandboxes: SandboxPool;
  readonly scenario: Scenario;
  readonly signal: "SIGKILL" | "SIGSTOP";
  /** A copy of the build with an injected bug. */
  readonly root?: string;
  /** Selects the points to try. Default: all. */
  readonly choose?: (points: readonly CrashPoint[]) => readonly CrashPoint[];
}

export interface CrashFindings {
  readonly points: readonly string[];
  readonly problems: readonly string[];
  /** The number of runs in which the recovery worker took over a claim of the crashed process. */
  readonly takenOver: number;
}

export function crashAtEachPoint(options: CrashOptions): Promise<CrashFindings> {
  return withSlot(() => crashAtPoints(options));
}

async function crashAtPoints(options: CrashOptions): Promise<CrashFindings> {
  const { signal, choose = (all) => all } = options;
  const { points, problems } = await discoverPointsOnce(options);
  // A process that is stopped inside a transaction keeps its locks: on SQLite every other process waits for it, on
  // PostgreSQL until the server ends the session. Neither is a lost lease, so only SIGKILL is tried there.
  const tried = choose(points)
    .filter(({ locked }) => signal === "SIGKILL" || !locked)
    .map(({ name }) => name);
  const found = [...problems];
  let takenOver = 0;
  let open = tried;
  // If the machine stalls for longer than a lease, a process loses its own saga before it arrives at its point. Then
  // the point is tried again, with fewer runs side by side and a longer lease.
  for (let round = 1; open.length > 0 && round <= TRIES_MAX; round++) {
    const runsMax = Math.ceil(RUNS_MAX / round ** 2);
    const runs = Math.ceil(open.length / Math.ceil(open.length / runsMax));
    const missed: string[] = [];
    for (let at = 0; at < open.length; at += runs) {
      const crash = await crashAt(options, open.slice(at, at + runs), LEASE_MS * 4 ** (round - 1));
      found.push(...crash.problems);
      missed.push(...crash.missed);
      takenOver += crash.takenOver;
    }
    open = missed;
  }
  if (!options.scenario.isTimed) found.push(...open.map((name) => `${name}: never reached`));
  return { points: tried, problems: found, takenOver };
}

const discovered = new WeakMap<SandboxPool, Map<string, ReturnType<typeof discoverPoints>>>();

/** All signals use the same points, so they are discovered once for each database. */
function discoverPointsOnce(options: CrashOptions): ReturnType<typeof discoverPoints> {
  const { sandboxes, scenario, root } = options;
  const known = discovered.get(sandboxes) ?? new Map<string, ReturnType<typeof discoverPoints>>();
  discovered.set(sandboxes, known);
  const name = `${scenario.name} ${root ?? ""}`;
  const points = known.get(name) ?? discoverPoints(options);
  known.set(name, points);
  return points;
}

/** Processes at the same time. A whole run has more of them in other test files, and one more would only be in their way. */
const PARALLEL_MAX = isExhaustive ? 1 : 2;
let busy = 0;
const waiting: (() => void)[] = [];

async function withSlot<T>(work: () => Promise<T>): Promise<T> {
  if (busy === PARALLEL_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
  else busy++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else busy--;
  }
}

/** Runs the scenario without a crash: returns its points, and the violations that occur without a crash. */
async function discoverPoints(
  options: CrashOptions,
): Promise<{ points: readonly CrashPoint[]; problems: string[] }> {
  const sandbox = await options.sandboxes.create();
  // No lease has to expire here, and a process that loses its own claim on a busy machine reaches other points.
  const leaseMs = LEASE_MS * 4;
  const instructions = { scenario: options.scenario.name, signal: undefined, leaseMs, runs: [{ sandbox }] };
  const workers = await RecoveryWorkers.open(options.scenario, [sandbox]);
  const child = await startChild(instructions, options.root);
  workers.cancelOnRequest(child);
  const { errors } = await child.ended;
  const report = child.reports.find(({ kind }) => kind !== "cancel");
  if (report?.kind !== "finished")
    throw new Error(`the scenario fails without a crash: ${report?.kind === "threw" ? report.text : errors}`);
  await workers.recover();
  const problems = await workers.check(["without a crash"]);
  await workers.close();
  await options.sandboxes.release(sandbox);
  return { points: report.points, problems };
}

interface Crash {
  readonly takenOver: number;
  readonly problems: readonly string[];
  readonly missed: readonly string[];
}

async function crashAt(options: CrashOptions, names: readonly string[], leaseMs: number): Promise<Crash> {
  const { sandboxes, scenario, signal, root } = options;
  const inUse = await Promise.all(names.map(() => sandboxes.create()));
  const runs = names.map((point, index) => ({ point, sandbox: inUse[index] as Sandbox }));
  const workers = await RecoveryWorkers.open(scenario, inUse);
  const child = await startChild({ scenario: scenario.name, signal, leaseMs, runs }, root);
  workers.cancelOnRequest(child);
  const result =
    signal === "SIGKILL"
      ? await workers.recoverAfterKill(child, names)
      : await workers.recoverWhileStopped(child, names);
  const { hung, errors } = await child.ended;
  const problems = [...result.problems, ...(await workers.check(names))];
  if (hung) problems.push(`the process did not end: ${errors}`);
  await workers.close();
  for (const sandbox of inUse) await sandboxes.release(sandbox);
  return { problems, missed: missedPoints(child.reports, names), takenOver: result.takenOver };
}

/** The points of the runs that ended without arriving at their point. */
function missedPoints(reports: readonly ChildReport[], names: readonly string[]): string[] {
  return reports.flatMap((report) =>
    report.kind !== "cancel" && !report.reached ? [names[report.run] as string] : [],
  );
}
