/**
 * Proves a saga by running it: once without failures to learn its calls, then once for every crash, failure and
 * timeout at each call, and once more for every failure in the resulting compensations.
 */
import { positiveMs } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { Ground } from "./ground.ts";
import { judge, withoutUndo, type Evidence } from "./judge.ts";
import { notProven } from "./not-proven.ts";
import { perform, refuseUnmet, type Performance } from "./performance.ts";
import {
  checkReversible,
  checkSaga,
  doubtThenFailure,
  isPossible,
  sample,
  singles,
  unlimited,
  whileMending,
  type Allowances,
  type Run,
} from "./schedules.ts";
import type {
  EndedOutcome,
  ProveProblem,
  Provable,
  ProveFailure,
  ProveOptions,
  ProvenSchedule,
  ProveReport,
  Script,
} from "./script.ts";
import { sitesOf } from "./tree.ts";
import { describe, readSeed, seedOf, type Schedule } from "./trouble.ts";

const OPTIONS = [
  "input",
  "world",
  "invariant",
  "errs",
  "tell",
  "reversed",
  "prepare",
  "schedules",
  "lease",
  "seed",
  "report",
  "onProgress",
];

const SCHEDULES = 500;

/**
 * Runs a saga of yours with a crash, a failure and a timeout at every call, also while it compensates. Throws
 * `NOT_PROVEN` if an effect was neither completed nor undone, or if your invariant does not hold. Only your world is
 * fake: the engine is the real one, on an in-memory database and virtual time.
 *
 * Pass the saga, or a function that makes it from a world. A function is called again after each crash, so that its
 * state in memory is lost, as in a process that died.
 */
export async function prove<Input, Output, Results, Failure, World = undefined>(
  saga: Provable<Input, Output, Results, Failure, World>,
  options: ProveOptions<NoInfer<Input>, NoInfer<Results>, NoInfer<Failure>, World>,
): Promise<ProveReport> {
  refuseUnknown(options, OPTIONS, "prove");
  const { schedules = SCHEDULES, seed } = options;
  if (!Number.isInteger(schedules) || schedules < 1) {
    throw new AmendsError("BAD_OPTION", "prove: schedules must be a whole number, 1 or more.");
  }
  // Drops the types: the code that runs the saga does not use them.
  const proof = new Proof(
    saga as Provable<unknown, unknown, unknown, unknown, unknown>,
    options as AnyOptions,
  );
  const report = await proof.run(schedules, seed);
  if (report.failures.length > 0 && options.report !== true) throw notProven(proof.name, report);
  return report;
}

type AnyOptions = ProveOptions<unknown, Record<string, unknown>, unknown, unknown>;
type AnyEnd = EndedOutcome<Record<string, unknown>, unknown>;

/** A check of the application returns false or throws if something is wrong. */
async function ask(
  wrong: string,
  check: () => boolean | void | Promise<boolean | void>,
): Promise<ProveProblem | undefined> {
  try {
    return (await check()) === false ? { problem: wrong } : undefined;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    return { problem: `${wrong}: ${message}`, cause };
  }
}

class Proof {
  name = "";
  readonly #script: Script;
  readonly #options: AnyOptions;
  readonly #allowances: Allowances;
  readonly #failures: ProveFailure[] = [];
  readonly #stalled: ProvenSchedule[] = [];
  readonly #withoutUndo = new Set<string>();
  readonly #withoutLimit = new Set<string>();
  #saga: AnySaga | undefined;
  #ground: Ground | undefined;
  #done = 0;
  #of = 1;

  constructor(saga: Provable<unknown, unknown, unknown, unknown, unknown>, options: AnyOptions) {
    const { world, input, errs = {}, tell = {}, reversed, prepare, lease = "60s" } = options;
    this.#options = options;
    this.#script = {
      makeSaga: (made) => this.#known(typeof saga === "function" ? saga(made) : saga),
      makeWorld: () => world?.(),
      input,
      errs,
      tell,
      isReversed: reversed !== undefined,
      prepare,
      leaseMs: positiveMs(lease, "prove: lease"),
    };
    this.#allowances = { errs: new Set(Object.keys(errs)), signalled: new Set(Object.keys(tell)) };
  }

  async run(max: number, seed: string | undefined): Promise<ProveReport> {
    try {
      return await (seed === undefined ? this.#all(max) : this.#one(seed));
    } finally {
      await this.#close();
    }
  }

  /** Every schedule, up to the limit. */
  async #all(max: number): Promise<ProveReport> {
    const plain = await this.#run([]);
    // If the saga fails without any failure, every other schedule would report the same.
    if (this.#failures.length > 0) return this.#report(0);
    const saga = this.#saga as AnySaga;
    const { calls } = plain;
    const first = singles(saga, calls, this.#allowances);
    const chosen = sample(first, max - 1);
    this.#of = 1 + chosen.length;
    const further: Schedule[] = [];
    for (const schedule of chosen) {
      const run = await this.#run(schedule);
      further.push(...whileMending(saga, schedule, run, calls, this.#allowances));
    }
    further.push(...doubtThenFailure(saga, calls, this.#allowances));
    const more = sample(further, max - this.#of);
    this.#of += more.length;
    for (const schedule of more) await this.#run(schedule);
    return this.#report(first.length - chosen.length + further.length - more.length);
  }

  async #one(seed: string): Promise<ProveReport> {
    const saga = this.#script.makeSaga(await this.#script.makeWorld());
    const schedule = readSeed(
      seed,
      sitesOf(saga).map(({ name }) => name),
    );
    for (const trouble of schedule) {
      if (isPossible(saga, trouble, this.#allowances)) continue;
      throw new AmendsError(
        "BAD_OPTION",
        `prove: the seed does not fit this saga and these options: ${seedOf([trouble])} cannot happen.`,
      );
    }
    await this.#run(schedule, refuseUnmet);
    return this.#report(0);
  }

  #known(saga: AnySaga): AnySaga {
    checkSaga(saga, this.#allowances);
    if (this.#script.isReversed) checkReversible(saga);
    this.name = saga.name;
    this.#saga = saga;
    return saga;
  }

  async #run(schedule: Schedule, look: (performance: Performance) => void = () => undefined): Promise<Run> {
    const openGround = async (): Promise<Ground> => (this.#ground ??= await Ground.open());
    const performance = await perform(this.#script, schedule, openGround, (evidence, world) =>
      this.#problemOf(evidence, world),
    );
    look(performance);
    await this.#judge(performance);
    const { hitch, isOpen, calls, outcome } = performance;
    if (hitch !== undefined || isOpen || this.#script.prepare) await this.#close();
    this.#done++;
    this.#options.onProgress?.({ done: this.#done, of: this.#of, failures: this.#failures.length });
    return { calls, hasCompleted: outcome?.status === "COMPLETED" };
  }

  async #close(): Promise<void> {
    await this.#ground?.close();
    this.#ground = undefined;
  }

  async #judge(performance: Performance): Promise<void> {
    const { schedule, outcome } = performance;
    const one: ProvenSchedule = { seed: seedOf(schedule), schedule: describe(schedule), outcome };
    const found = performance.hitch ?? (await this.#problemOf(performance, performance.world));
    if (found) this.#failures.push({ ...one, ...found });
    else if (outcome?.status === "STALLED") this.#stalled.push(one);
    for (const step of withoutUndo(performance)) this.#withoutUndo.add(step);
    for (const call of unlimited(this.#saga as AnySaga, performance.calls)) this.#withoutLimit.add(call);
  }

  /** What is wrong with the calls, or with the world. */
  async #problemOf(evidence: Evidence, world: unknown): Promise<ProveProblem | undefined> {
    const problem = judge(evidence);
    if (problem !== undefined) return { problem };
    const { outcome, isReversed } = evidence;
    if (!outcome || outcome.status === "STALLED") return undefined;
    const { invariant, reversed } = this.#options;
    return isReversed === true && outcome.status === "COMPLETED"
      ? ask("the world is not as it was before the saga", () => reversed?.(world))
      : ask("the invariant does not hold", () => invariant?.(world, outcome as AnyEnd));
  }

  #report(leftOut: number): ProveReport {
    return {
      schedules: this.#done,
      leftOut,
      failures: this.#failures,
      stalled: this.#stalled,
      withoutUndo: [...this.#withoutUndo],
      withoutLimit: [...this.#withoutLimit],
    };
  }
}
