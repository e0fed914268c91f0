/**
 * Runs a scenario to learn its points, then again and again with its process stopped at each of them, lets another
 * process recover, and returns everything that is wrong, in words.
 */
import { Crew } from "./crew.ts";
import type { Report } from "./orders.ts";
import type { Place } from "./place.ts";
import type { Point } from "./probe.ts";
import { startChild } from "./process.ts";
import type { Scenario } from "./scenario.ts";
import type { Yard } from "./yard.ts";

/** How many points one process tries. Each lane takes two or three connections, and a usual server has a hundred. */
const LANES_MAX = 20;
const ROUNDS_MAX = 3;

export interface HarnessOptions {
  readonly yard: Yard;
  readonly scenario: Scenario;
  readonly signal: "SIGKILL" | "SIGSTOP";
  /** A copy of the build with a bug in it. */
  readonly root?: string;
  /** Which of the points to try; all of them unless said otherwise. */
  readonly choose?: (points: readonly Point[]) => readonly Point[];
}

export interface Findings {
  readonly points: readonly string[];
  readonly problems: readonly string[];
  /** In how many cases somebody took a saga away from the process that slept. */
  readonly taken: number;
}

export function crashEverywhere(options: HarnessOptions): Promise<Findings> {
  return inTurn(() => tryEverywhere(options));
}

async function tryEverywhere(options: HarnessOptions): Promise<Findings> {
  const { signal, choose = (all) => all } = options;
  const { points, problems } = await learnOnce(options);
  // A process that sleeps inside a transaction keeps what it locked: on SQLite everybody waits for it, on PostgreSQL
  // until the server ends its session. Neither is a lost lease, so only SIGKILL is tried there.
  const tried = choose(points)
    .filter(({ locked }) => signal === "SIGKILL" || !locked)
    .map(({ name }) => name);
  const found = [...problems];
  let taken = 0;
  let open = tried;
  // A machine that stalls for longer than a lease lets a process lose its own saga before it comes to its point: then
  // the point is tried again, with less beside it.
  for (let round = 1; open.length > 0 && round <= ROUNDS_MAX; round++) {
    const lanesMax = Math.ceil(LANES_MAX / round ** 2);
    const lanes = Math.ceil(open.length / Math.ceil(open.length / lanesMax));
    const missed: string[] = [];
    for (let at = 0; at < open.length; at += lanes) {
      const crash = await crashAt(options, open.slice(at, at + lanes));
      found.push(...crash.problems);
      missed.push(...crash.missed);
      taken += crash.taken;
    }
    open = missed;
  }
  if (!options.scenario.isTimed) found.push(...open.map((name) => `${name}: never reached`));
  return { points: tried, problems: found, taken };
}

const learned = new WeakMap<Yard, Map<string, ReturnType<typeof learn>>>();

/** Every signal is sent at the same points: they are learned once for each database. */
function learnOnce(options: HarnessOptions): ReturnType<typeof learn> {
  const { yard, scenario, root } = options;
  const known = learned.get(yard) ?? new Map<string, ReturnType<typeof learn>>();
  learned.set(yard, known);
  const name = `${scenario.name} ${root ?? ""}`;
  const points = known.get(name) ?? learn(options);
  known.set(name, points);
  return points;
}

/** So many processes at once use two cores well: much of the time is spent on waiting for leases to lapse. */
const AT_ONCE = 2;
let busy = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (busy === AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else busy++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else busy--;
  }
}

/** Undisturbed: which points are there, and is everything right when nothing happens? */
async function learn(options: HarnessOptions): Promise<{ points: readonly Point[]; problems: string[] }> {
  const place = await options.yard.place();
  const orders = { scenario: options.scenario.name, signal: undefined, lanes: [{ place }] };
  const crew = await Crew.assemble(options.scenario, [place]);
  const child = await startChild(orders, options.root);
  crew.serve(child);
  const { errors } = await child.ended;
  const report = child.reports.find(({ kind }) => kind !== "cancel");
  if (report?.kind !== "finished")
    throw new Error(`the scenario does not run: ${report?.kind === "threw" ? report.text : errors}`);
  await crew.recover();
  const problems = await crew.check(["undisturbed"]);
  await crew.close();
  options.yard.giveBack(place);
  return { points: report.points, problems };
}

interface Crash {
  readonly taken: number;
  readonly problems: readonly string[];
  readonly missed: readonly string[];
}

async function crashAt(options: HarnessOptions, names: readonly string[]): Promise<Crash> {
  const { yard, scenario, signal, root } = options;
  const places = await Promise.all(names.map(() => yard.place()));
  const lanes = names.map((point, index) => ({ point, place: places[index] as Place }));
  const crew = await Crew.assemble(scenario, places);
  const child = await startChild({ scenario: scenario.name, signal, lanes }, root);
  crew.serve(child);
  const result = signal === "SIGKILL" ? await crew.succeed(child, names) : await crew.outrun(child, names);
  const { hung, errors } = await child.ended;
  const problems = [...result.problems, ...(await crew.check(names))];
  if (hung) problems.push(`the process did not come to an end: ${errors}`);
  await crew.close();
  places.forEach((place) => yard.giveBack(place));
  return { problems, missed: unreached(child.reports, names), taken: result.taken };
}

/** A lane that reports without having been at its point has missed it. */
function unreached(reports: readonly Report[], names: readonly string[]): string[] {
  return reports.flatMap((report) =>
    report.kind !== "cancel" && !report.reached ? [names[report.lane] as string] : [],
  );
}
