/**
 * Runs a saga once under a schedule of failures, with the real driver on virtual time. Time moves only while
 * nothing else can run: application code that takes real time is awaited.
 */
import { createHash } from "node:crypto";
import { AmendsError } from "../../core/errors.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { Ground } from "./ground.ts";
import type { Evidence } from "./judge.ts";
import { DatabaseBed } from "./database-bed.ts";
import { Family } from "./family.ts";
import { MemoryBed } from "./memory-bed.ts";
import type { Mortality } from "../kit/mortality.ts";
import { needsDatabase, type Found, type TestBed } from "./test-bed.ts";
import { virtualClock } from "../kit/virtual-clock.ts";
import { Rig } from "./rig.ts";
import type { ProveProblem, Script } from "./script.ts";
import { sitesOf } from "./tree.ts";
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

/** A longer seed is no id: the ids of children and reversals, and keys, begin with it. */
const ID_MAX = 80;

export interface Performance extends Evidence {
  readonly world: unknown;
  /** Why the saga did not end, or what was wrong before it was taken back. */
  readonly hitch: ProveProblem | undefined;
  /** Failures of the schedule that met no call. */
  readonly unmet: readonly Trouble[];
  /** A saga is left open in the database. */
  readonly isOpen: boolean;
}

/** Looks at a completed saga before it is taken back. */
export type Look = (evidence: Evidence, world: unknown) => Promise<ProveProblem | undefined>;

/** `openGround` opens the database, for a saga that needs one. */
export async function perform(
  script: Script,
  schedule: Schedule,
  openGround: () => Promise<Ground>,
  look: Look,
): Promise<Performance> {
  const world = await script.makeWorld();
  if (script.prepare) await script.prepare((await openGround()).handle, world);
  const rig = new Rig(schedule, script.errs);
  const id = idFor(schedule);
  let first: AnySaga | undefined = script.makeSaga(world);
  const isInDatabase = needsDatabase(script, first);
  const make = (process: Mortality): AnySaga => {
    const saga = first ?? script.makeSaga(world);
    first = undefined;
    return rig.rigged(saga, process);
  };
  const bed = isInDatabase
    ? new DatabaseBed(await openGround(), script, leaseFor(script, schedule), id, make, (process) =>
        rig.middleware(process.saga, process),
      )
    : new MemoryBed(virtualClock(), script, id, make);
  const player = new Player(bed, rig, script, schedule, id, (evidence) => look(evidence, world));
  await player.play();
  return { ...player.evidence, world, hitch: player.hitch, unmet: rig.unmet, isOpen: player.isOpen };
}

/** Schedules may share fakes, so each has its own idempotency keys. */
function idFor(schedule: Schedule): string {
  const seed = seedOf(schedule);
  return seed.length <= ID_MAX ? seed : createHash("sha256").update(seed).digest("hex");
}

class Player {
  readonly #bed: TestBed;
  readonly #rig: Rig;
  readonly #script: Script;
  readonly #family: Family;
  readonly #look: (evidence: Evidence) => Promise<ProveProblem | undefined>;
  readonly #told = new Set<string>();
  #hitch: ProveProblem | undefined;

  constructor(
    bed: TestBed,
    rig: Rig,
    script: Script,
    schedule: Schedule,
    id: string,
    look: (evidence: Evidence) => Promise<ProveProblem | undefined>,
  ) {
    this.#bed = bed;
    this.#rig = rig;
    this.#script = script;
    this.#family = new Family(bed, rig, schedule, id);
    this.#look = look;
  }

  get hitch(): ProveProblem | undefined {
    return this.#hitch;
  }

  get evidence(): Evidence {
    return this.#family.evidence;
  }

  get isOpen(): boolean {
    return this.#family.open.length > 0;
  }

  async play(): Promise<void> {
    await this.#bed.start();
    for (let looks = looksFor(this.#bed.process.saga); looks > 0 && !(await this.#hasEnded()); looks--) {
      await this.#tell();
      await this.#work();
    }
    if (this.#hitch === undefined && !(await this.#hasEnded()))
      this.#hitch = { problem: await this.#whyOpen() };
    const { hookFailure } = this.#rig;
    if (hookFailure !== undefined) this.#hitch ??= { problem: hookFailure };
    await this.#bed.close();
  }

  /** Reads the sagas. If one is still open, it moves time to where the first of them is due. */
  async #hasEnded(): Promise<boolean> {
    const { clock } = this.#bed;
    const family = this.#family;
    await family.read();
    if (this.#hitch !== undefined || !family.root || family.stalled) return true;
    if (family.open.length === 0 && !(await this.#isTakenBack(family.root))) return true;
    const dueAtMs = Math.min(...family.open.map((found) => found.dueAtMs ?? 0));
    if (family.open.length > 0) clock.jump(Math.max(0, dueAtMs - clock.virtualNowMs()));
    return false;
  }

  /** Takes the saga back if that is asked for and it has completed. True if there is something to do now. */
  async #isTakenBack({ state }: Found): Promise<boolean> {
    if (!this.#script.isReversed || state.status !== "COMPLETED" || this.#family.reversal !== undefined)
      return false;
    this.#hitch = await this.#look(this.evidence);
    if (this.#hitch) return false;
    this.#family.reversal = await this.#bed.takeBack();
    await this.#family.read();
    return this.#family.open.length > 0;
  }

  async #whyOpen(): Promise<string> {
    const { root, open } = this.#family;
    if (root && sagaMachine.isTerminal(root.state.status))
      return `it is ${root.state.status}, but its child ${this.#family.nameOf(open[0] as Found)} is still open`;
    return this.#bed.whyOpen();
  }

  /** Sends what steps wait for, once their saga is there. */
  async #tell(): Promise<void> {
    for (const { name, path, index } of sitesOf(this.#bed.process.saga)) {
      const send = this.#script.tell[name];
      if (!send || this.#told.has(name) || this.#rig.isUntold(name)) continue;
      const saga = this.#family.at(path);
      const { round = 0, act } = saga?.state.steps[index] ?? {};
      if (!saga || (this.#rig.isToldLate(name) && (act !== "waiting" || round === 0))) continue;
      this.#told.add(name);
      await this.#bed.tell(send, saga.id);
    }
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
        this.#hitch = { problem: "a call never returned, and no timeout ended it" };
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
      this.#hitch = {
        problem: `${callName(call)} did not answer within ${REAL_LIMIT_MS} ms of real time`,
      };
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

function looksFor(saga: AnySaga): number {
  return sitesOf(saga).reduce((sum, { step }) => {
    const { retry, compensateRetry, planned } = step;
    const rounds = planned.repeat?.max ?? 0;
    return sum + retry.attemptMax + compensateRetry.attemptMax + rounds;
  }, LOOKS);
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
