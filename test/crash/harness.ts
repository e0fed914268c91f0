/**
 * Runs a scenario to learn its points, then again and again with its process stopped at each of them, lets another
 * process recover, and returns everything that is wrong, in words.
 */
import type { Report } from "./orders.ts";
import type { Place } from "./place.ts";
import type { Point } from "./probe.ts";
import { startChild, type Child } from "./process.ts";
import { Recovery } from "./recovery.ts";
import type { Scenario } from "./scenario.ts";
import type { Yard } from "./yard.ts";

/** How many points one process tries: each lane has a database of its own and some connections. */
const LANES_MAX = 24;
const ROUNDS_MAX = 3;

/** Refusals that a process may meet when it wakes up in a world that went on without it. */
const OUTRUN = new Set(["NOT_ALLOWED_NOW", "CANCEL_REFUSED"]);

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
}

export function crashEverywhere(options: HarnessOptions): Promise<Findings> {
  return inTurn(() => tryEverywhere(options));
}

async function tryEverywhere(options: HarnessOptions): Promise<Findings> {
  const { signal, choose = (all) => all } = options;
  const { points, problems } = await learnOnce(options);
  // A process that sleeps inside a transaction keeps what it locked: on SQLite everybody waits for it, on PostgreSQL
  // until the server ends its session. Neither is a lost lease, so only SIGKILL is tried there.
  const tried = choose(points.filter(({ locked }) => signal === "SIGKILL" || !locked)).map(
    ({ name }) => name,
  );
  const found = [...problems];
  let open = tried;
  // A machine that stalls for longer than a lease lets a process lose its own saga before it comes to its point: then
  // the point is tried again, with less beside it.
  for (let round = 1; open.length > 0 && round <= ROUNDS_MAX; round++) {
    const lanesMax = Math.ceil(LANES_MAX / round ** 2);
    const missed: string[] = [];
    for (let at = 0; at < open.length; at += lanesMax) {
      const crash = await crashAt(options, open.slice(at, at + lanesMax));
      found.push(...crash.problems);
      missed.push(...crash.missed);
    }
    open = missed;
  }
  found.push(...open.map((name) => `${name}: never reached`));
  return { points: tried, problems: found };
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
const AT_ONCE = 3;
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
  const problems: string[] = [];
  const missed: string[] = [];
  if (signal === "SIGKILL") {
    const { signal: by, errors } = await child.ended;
    if (by !== "SIGKILL") problems.push(`the process was to be killed and was not: ${errors}`);
    missed.push(...unreached(child.reports, names));
    await crew.recover();
  } else {
    await child.stopped;
    missed.push(...unreached(child.reports, names));
    problems.push(...(await crew.outrun(child, names)));
  }
  problems.push(...(await crew.check(names)));
  await crew.close();
  places.forEach((place) => yard.giveBack(place));
  return { problems, missed };
}

/** Before the signal no lane may have finished: one that has did not come to its point. */
function unreached(reports: readonly Report[], names: readonly string[]): string[] {
  return reports.filter(({ kind }) => kind !== "cancel").map(({ lane }) => names[lane] as string);
}

/** One recovering process for each lane. */
class Crew {
  readonly #recoveries: readonly Recovery[];
  #requests: Promise<void>[] = [];

  private constructor(recoveries: readonly Recovery[]) {
    this.#recoveries = recoveries;
  }

  static async assemble(scenario: Scenario, places: readonly Place[]): Promise<Crew> {
    return new Crew(await Promise.all(places.map((place) => Recovery.open(scenario, place))));
  }

  /** Cancels what the child asks to have cancelled from elsewhere. */
  serve(child: Child): void {
    child.onReport((report) => {
      if (report.kind !== "cancel") return;
      const cancelled = (this.#recoveries[report.lane] as Recovery).cancel(report.sagaId);
      this.#requests.push(cancelled.then(() => child.send({ lane: report.lane })));
    });
  }

  async recover(): Promise<readonly number[]> {
    await Promise.all(this.#requests);
    return Promise.all(this.#recoveries.map((recovery) => recovery.run()));
  }

  /** Takes everything over while the child sleeps, then wakes it: it must find that it lost, and write nothing. */
  async outrun(child: Child, names: readonly string[]): Promise<string[]> {
    const problems: string[] = [];
    const taken = await this.recover();
    const before = await this.#ended();
    child.kill("SIGCONT");
    const { code, errors } = await child.ended;
    if (code !== 0) problems.push(`the process woke up and ended with ${code}: ${errors}`);
    const after = await this.#ended();
    names.forEach((name, lane) => {
      for (const [id, text] of before[lane] as ReadonlyMap<string, string>)
        if (after[lane]?.get(id) !== text)
          problems.push(`${name}: I4: saga ${id} changed after it had ended`);
      const report = child.reports.find((one) => one.lane === lane && one.kind !== "cancel");
      if (!report) problems.push(`${name}: the process woke up and said nothing`);
      else if (report.kind === "threw") {
        if (!OUTRUN.has(report.code ?? "")) problems.push(`${name}: ${report.text}`);
      } else if (report.kind === "finished" && (taken[lane] as number) > 0 && report.counters.lost === 0)
        problems.push(`${name}: K-06: its saga was taken, and it did not count that as lost`);
    });
    // What it only now began, or gave back, is finished like anything else.
    await this.recover();
    return problems;
  }

  async check(names: readonly string[]): Promise<string[]> {
    const found = await Promise.all(this.#recoveries.map((recovery) => recovery.check()));
    return found.flatMap((problems, lane) => problems.map((problem) => `${names[lane]}: ${problem}`));
  }

  async close(): Promise<void> {
    for (const recovery of this.#recoveries) await recovery.close();
  }

  #ended(): Promise<readonly ReadonlyMap<string, string>[]> {
    return Promise.all(this.#recoveries.map((recovery) => recovery.ended()));
  }
}
