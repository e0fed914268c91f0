/**
 * Runs a saga once under a schedule of failures, with the real driver on virtual time. Time moves only while
 * nothing else can run: application code that takes real time is awaited.
 */
import { AmendsError } from "../../core/errors.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { outcomeOf } from "../../sagas/view/outcome.ts";
import type { Ground } from "./ground.ts";
import type { Evidence } from "./judge.ts";
import { DatabaseBed } from "./database-bed.ts";
import { MemoryBed } from "./memory-bed.ts";
import type { Mortality } from "../kit/mortality.ts";
import { needsDatabase, type TestBed } from "./test-bed.ts";
import { virtualClock } from "../kit/virtual-clock.ts";
import { Rig } from "./rig.ts";
import type { Script } from "./script.ts";
import { callName, KINDS, seedOf, type Schedule, type Trouble } from "./trouble.ts";

/** The real-time limit of application code: fakes answer almost at once. */
const REAL_LIMIT_MS = 10_000;

/** The number of rounds, besides the attempts of its steps, after which a saga counts as endless. */
const LOOKS = 50;

/** The number of event loop turns after which an in-memory database has answered every query. */
const SETTLE_TURNS = 40;

const LONG_LEASE_MS = 30 * 86_400_000;

/** The number of moves to the next timer after which a process counts as stuck. */
const TURNS = 100_000;

export interface Performance extends Evidence {
  readonly world: unknown;
  /** Why the saga did not end. */
  readonly hitch: string | undefined;
  /** Failures of the schedule that met no call. */
  readonly unmet: readonly Trouble[];
}

/** `openGround` opens the database, for a saga that needs one. */
export async function perform(
  script: Script,
  schedule: Schedule,
  openGround: () => Promise<Ground>,
): Promise<Performance> {
  const world = await script.makeWorld();
  if (script.prepare) await script.prepare((await openGround()).handle, world);
  const rig = new Rig(schedule, script.errs);
  // Schedules may share fakes, so each has its own idempotency keys.
  const id = seedOf(schedule);
  let first: AnySaga | undefined = script.makeSaga(world);
  const isInDatabase = needsDatabase(script, first);
  const make = (process: Mortality): AnySaga => {
    const saga = first ?? script.makeSaga(world);
    first = undefined;
    return rig.rigged(saga, process);
  };
  const bed = isInDatabase
    ? new DatabaseBed(await openGround(), script, leaseFor(script, schedule), id, make)
    : new MemoryBed(virtualClock(), script, id, make);
  const player = new Player(bed, rig, id);
  await player.play();
  return { ...player.findings, schedule, world, calls: rig.calls, unmet: rig.unmet };
}

class Player {
  readonly #bed: TestBed;
  readonly #rig: Rig;
  readonly #id: string;
  #hitch: string | undefined;
  #state: SagaState | undefined;

  constructor(bed: TestBed, rig: Rig, id: string) {
    this.#bed = bed;
    this.#rig = rig;
    this.#id = id;
  }

  get findings(): Pick<Performance, "plan" | "outcome" | "committed" | "recoveryMax" | "hitch"> {
    const { plan, settings } = this.#bed.process.saga;
    const state = this.#state;
    return {
      plan,
      outcome: state && outcomeOf(this.#id, state),
      committed: new Set(plan.filter((_, n) => state?.steps[n]?.act === "done").map(({ name }) => name)),
      recoveryMax: settings.recoveryMax,
      hitch: this.#hitch,
    };
  }

  async play(): Promise<void> {
    await this.#bed.start((step) => this.#rig.isUntold(step));
    for (let looks = looksFor(this.#bed.process.saga); looks > 0 && !(await this.#hasEnded()); looks--)
      await this.#work();
    if (this.#hitch === undefined && !(await this.#hasEnded())) this.#hitch = await this.#bed.whyOpen();
    await this.#bed.close();
  }

  /** Reads the saga, and moves time to its due time if it is still open. */
  async #hasEnded(): Promise<boolean> {
    const { clock } = this.#bed;
    const found = await this.#bed.read();
    this.#state = found?.state;
    if (this.#hitch !== undefined || !found || outcomeOf(this.#id, found.state)) return true;
    clock.jump(Math.max(0, (found.dueAtMs ?? 0) - clock.virtualNowMs()));
    return false;
  }

  /** Runs the process until it is idle, dead or stuck. */
  async #work(): Promise<void> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    const { process, done } = this.#bed.work();
    done.then(end, end);
    const canGoOn = (): boolean => !isOver && process.isAlive;
    for (let turn = 0; ; turn++) {
      const isIdle = await this.#settles(canGoOn);
      if (!canGoOn()) break;
      const { running } = this.#rig;
      if (running) {
        if (await this.#outlasts(running)) return process.kill();
      } else if (!isIdle) continue;
      else if (turn === TURNS) {
        this.#hitch = "a call never returned, and no timeout ended it";
        return process.kill();
      } else await this.#bed.clock.advanceToNext();
    }
    // Requests that parallel steps of a dead process sent arrive before another process takes over.
    for (let running = this.#rig.running; running && !process.isAlive; running = this.#rig.running)
      if (await this.#outlasts(running)) return;
    if (isOver) await done;
  }

  /** Runs everything that needs no virtual time. True if nothing more can happen without time passing. */
  async #settles(canGoOn: () => boolean): Promise<boolean> {
    for (let turn = 0; turn < SETTLE_TURNS; turn++) {
      if (!canGoOn() || this.#rig.running) return false;
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    return true;
  }

  async #outlasts(running: Promise<unknown>): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<true>((resolve) => {
      timer = setTimeout(() => resolve(true), REAL_LIMIT_MS);
    });
    const isLate = await Promise.race([running.then(() => false), limit]);
    clearTimeout(timer);
    const call = this.#rig.calls.findLast(({ made, answer }) => made && answer === undefined);
    if (isLate && call)
      this.#hitch = `${callName(call)} did not answer within ${REAL_LIMIT_MS} ms of real time`;
    return isLate;
  }
}

/**
 * The lease of a schedule. Without a crash, a short lease only costs renewals, which are many for a call that hangs
 * for hours, so the lease is long; a crash after such a hang is not urgent either.
 */
function leaseFor({ leaseMs }: Script, schedule: Schedule): number {
  const isCrash = schedule.some(({ kind }) => KINDS[kind].crash === true);
  const isHang = schedule.some(({ kind }) => KINDS[kind].limited === true);
  return isCrash && !isHang ? leaseMs : Math.max(leaseMs, LONG_LEASE_MS);
}

function looksFor({ steps }: AnySaga): number {
  return steps.reduce((sum, step) => sum + step.retry.attemptMax + step.compensateRetry.attemptMax, LOOKS);
}

/** A seed that matches no call of the saga proves nothing. */
export function refuseUnmet({ unmet }: Performance): void {
  const [trouble] = unmet;
  if (!trouble) return;
  throw new AmendsError(
    "BAD_OPTION",
    `prove: the seed does not fit this saga and this input: ${callName(trouble)} was not called.`,
  );
}
