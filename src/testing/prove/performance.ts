/**
 * Runs a saga once, with what the schedule says going wrong: on the real engine, in a SQLite database in memory, on
 * virtual time. Time moves only while nothing else can: code of the user's that takes its real time is waited for.
 */
import { AmendsError } from "../../core/errors.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { outcomeOf } from "../../sagas/view/outcome.ts";
import type { Ground } from "./ground.ts";
import type { Evidence } from "./judge.ts";
import { MortalProcess } from "./mortal-process.ts";
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

export async function perform(script: Script, schedule: Schedule, ground: Ground): Promise<Performance> {
  const world = await script.makeWorld();
  await script.prepare?.(ground.handle, world);
  const stage = new Stage(script, schedule, ground, world);
  await stage.play();
  return stage.performance;
}

class Stage {
  readonly #script: Script;
  readonly #schedule: Schedule;
  readonly #ground: Ground;
  readonly #world: unknown;
  readonly #rig: Rig;
  /** Fakes that are shared by schedules must not take one for the other: each has keys of its own. */
  readonly #id: string;
  #hitch: string | undefined;
  #process: MortalProcess | undefined;
  #state: SagaState | undefined;

  constructor(script: Script, schedule: Schedule, ground: Ground, world: unknown) {
    this.#script = script;
    this.#schedule = schedule;
    this.#ground = ground;
    this.#world = world;
    this.#id = seedOf(schedule);
    this.#rig = new Rig(schedule, script.errs);
  }

  get performance(): Performance {
    const { plan, settings } = this.#saga;
    const state = this.#state;
    return {
      plan,
      calls: this.#rig.calls,
      schedule: this.#schedule,
      outcome: state && outcomeOf(this.#id, state),
      committed: new Set(plan.filter((_, n) => state?.steps[n]?.act === "done").map(({ name }) => name)),
      recoveryMax: settings.recoveryMax,
      world: this.#world,
      hitch: this.#hitch,
      unmet: this.#rig.unmet,
    };
  }

  async play(): Promise<void> {
    const { amends, saga } = this.#living();
    await amends.start(saga, this.#script.input, { id: this.#id });
    for (const { name } of saga.steps) {
      const send = this.#script.tell[name];
      if (send && !this.#rig.isUntold(name)) await send(amends, this.#id);
    }
    for (let looks = looksFor(saga); looks > 0 && !(await this.#hasEnded()); looks--) {
      await this.#work(this.#living());
    }
    if (this.#hitch === undefined && !(await this.#hasEnded())) this.#hitch = await this.#whyOpen();
    if (!this.#process?.isAlive) return;
    await this.#process.amends.close({ deadline: 0 });
    this.#process.kill();
  }

  /** Looks at the saga, and moves time to where it is due if it is still open. */
  async #hasEnded(): Promise<boolean> {
    const { journal, clock } = this.#ground;
    const record = await journal.load(this.#id);
    this.#state = record?.state;
    if (this.#hitch !== undefined || !record || outcomeOf(this.#id, record.state)) return true;
    clock.jump(Math.max(0, (record.dueAtMs ?? 0) - clock.virtualNowMs()));
    return false;
  }

  async #whyOpen(): Promise<string> {
    const waiting = (await this.#living().amends.inspect(this.#id))?.waiting;
    if (!waiting) return "it was looked at again and again, and did not end";
    const what = `${waiting.kind} ${waiting.for ?? ""}`;
    return `step ${waiting.step} waits for ${what}, and nobody sends it: give \`tell: { "${waiting.step}": … }\``;
  }

  /** The process that works on the saga; where the last one died, another one, which has a saga of its own making. */
  #living(): MortalProcess {
    if (this.#process?.isAlive) return this.#process;
    const { database, clock } = this.#ground;
    const around = { database, clock, leaseMs: leaseFor(this.#script, this.#schedule) };
    const make = (process: MortalProcess): AnySaga =>
      this.#rig.rigged(this.#script.makeSaga(this.#world), process);
    return (this.#process = new MortalProcess(around, make));
  }

  get #saga(): AnySaga {
    return (this.#process ?? this.#living()).saga;
  }

  /** Lets the process work until it has nothing to do, is dead, or is stuck. */
  async #work(process: MortalProcess): Promise<void> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    const work = process.worker.runOnce();
    work.then(end, end);
    const canGoOn = (): boolean => !isOver && process.isAlive;
    for (let turn = 0; await this.#settles(canGoOn); turn++) {
      if (this.#rig.running) {
        if (await this.#outlasts(this.#rig.running)) return process.kill();
      } else if (turn === TURNS) {
        this.#hitch = "a call was waited for, and nothing that passes with time ended it";
        return process.kill();
      } else await this.#ground.clock.advanceToNext();
    }
    // What steps that acted at the same time had sent out arrives before anybody takes over from a process that died.
    for (let running = this.#rig.running; running && !process.isAlive; running = this.#rig.running)
      if (await this.#outlasts(running)) return;
    if (isOver) await work;
  }

  /** Lets everything run that needs no time to pass. True where there is still something to wait for. */
  async #settles(canGoOn: () => boolean): Promise<boolean> {
    for (let turn = 0; turn < SETTLE_TURNS && canGoOn() && !this.#rig.running; turn++) {
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    return canGoOn();
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
