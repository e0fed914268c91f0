/**
 * Runs a saga once, with what the schedule says going wrong: by the real driver, on virtual time. Time moves only while
 * nothing else can: code of the user's that takes its real time is waited for.
 */
import { AmendsError } from "../../core/errors.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { outcomeOf } from "../../sagas/view/outcome.ts";
import type { Ground } from "./ground.ts";
import type { Evidence } from "./judge.ts";
import { DatabaseBed } from "./database-bed.ts";
import { MemoryBed } from "./memory-bed.ts";
import type { Mortality } from "./mortality.ts";
import { needsDatabase, type TestBed } from "./test-bed.ts";
import { virtualClock } from "../kit/virtual-clock.ts";
import { Rig } from "./rig.ts";
import type { Script } from "./script.ts";
import { callName, KINDS, seedOf, type Schedule, type Trouble } from "./trouble.ts";

/** How long code of the user's may take, by the real clock: fakes answer at once, or nearly so. */
const REAL_LIMIT_MS = 10_000;

/** How often a saga is looked at before it counts as one that never ends, beside the tries that its steps have. */
const LOOKS = 50;

/** After so many turns of the event loop, a database in memory has answered whatever it was asked. */
const SETTLE_TURNS = 40;

const LONG_LEASE_MS = 30 * 86_400_000;

/** How often time is moved on, each time to whatever is due next, before a process counts as stuck. */
const TURNS = 100_000;

export interface Performance extends Evidence {
  readonly world: unknown;
  /** What kept the saga from its end. */
  readonly hitch: string | undefined;
  /** Troubles that had no call to strike at. */
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
  // Fakes that are shared by schedules must not take one for the other: each has keys of its own.
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

  /** Looks at the saga, and moves time to where it is due if it is still open. */
  async #hasEnded(): Promise<boolean> {
    const { clock } = this.#bed;
    const found = await this.#bed.read();
    this.#state = found?.state;
    if (this.#hitch !== undefined || !found || outcomeOf(this.#id, found.state)) return true;
    clock.jump(Math.max(0, (found.dueAtMs ?? 0) - clock.virtualNowMs()));
    return false;
  }

  /** Lets the process work until it has nothing to do, is dead, or is stuck. */
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
        this.#hitch = "a call was waited for, and nothing that passes with time ended it";
        return process.kill();
      } else await this.#bed.clock.advanceToNext();
    }
    // What steps that acted at the same time had sent out arrives before another process takes over from a dead one.
    for (let running = this.#rig.running; running && !process.isAlive; running = this.#rig.running)
      if (await this.#outlasts(running)) return;
    if (isOver) await done;
  }

  /** Lets everything run that needs no time to pass. True where nothing happens any more unless time passes. */
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
 * How long a saga whose process died waits. Where nobody dies, a lease only costs renewals, of which a call that hangs
 * for hours would see many; where somebody dies after that, the saga has turned back, and nothing of it is in a hurry.
 */
function leaseFor({ leaseMs }: Script, schedule: Schedule): number {
  const isCrash = schedule.some(({ kind }) => KINDS[kind].crash === true);
  const isHang = schedule.some(({ kind }) => KINDS[kind].limited === true);
  return isCrash && !isHang ? leaseMs : Math.max(leaseMs, LONG_LEASE_MS);
}

function looksFor({ steps }: AnySaga): number {
  return steps.reduce((sum, step) => sum + step.retry.attemptMax + step.compensateRetry.attemptMax, LOOKS);
}

/** A seed that a saga has no call for says nothing about it. */
export function refuseUnmet({ unmet }: Performance): void {
  const [trouble] = unmet;
  if (!trouble) return;
  throw new AmendsError(
    "BAD_OPTION",
    `prove: the seed does not fit this saga and this input: ${callName(trouble)} was not called.`,
  );
}
