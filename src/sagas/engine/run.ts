/** One saga while this process runs it: what it is, what it holds, and how its current call can be stopped. */
import type { Lease } from "../../runtime/lease.ts";
import { Stoppable, type StopReason } from "../../runtime/stoppable.ts";
import type { ControlDetails } from "../../core/saga/entry.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/wait.ts";
import { stopCall, type CallCommand, type CallContext, type Called } from "./call.ts";
import type { AnySaga } from "../define/definition.ts";
import type { SagaRecord } from "../journal/journal.ts";
import type { Member } from "./member.ts";
import { OrphanedCalls } from "./orphaned-calls.ts";
import { resultName } from "../view/outcome.ts";
import type { StepDefinition } from "../define/settings.ts";

/** How a run left this process: at its end, given back for later, or taken by another worker. */
export type Departure = "ended" | "released" | "lost";

/** What most sagas have: no groups. Never added to. */
const NO_INSTANTS = new Map<string, number>();

export class Run {
  readonly id: string;
  readonly definition: AnySaga;
  readonly input: unknown;
  readonly token: number;
  /** Set as soon as the run has its slot. */
  lease!: Lease;
  /** Why it cannot go on here: it is stalled instead. */
  readonly refusal: ControlDetails | undefined;
  /** Of the database, when the saga was last read from it. */
  epoch: number;
  state: SagaState;
  version: number;
  /** What the finished steps returned, by name. */
  results: Record<string, unknown> = {};
  readonly hasDeadlines: boolean;
  /** Some of its steps only wait. */
  readonly hasWaits: boolean;
  /** What was sent to it, as far as anybody looked. */
  arrivals: readonly Arrival[] = [];
  /** It was recovered and has not got on since. */
  unconfirmedRecovery: boolean;
  /** Local instants, for deadlines: ownership never depends on them. */
  deadlineAtMs: number | undefined;
  stepBegunAtMs: number;
  /** Of steps in a group, by name: when each first began, and when its next try is due. */
  readonly begunAtMs: Map<string, number> = NO_INSTANTS;
  readonly dueAtMs: Map<string, number> = NO_INSTANTS;
  /** The acts of a group that are being called. */
  members: Set<Member> | undefined;
  /** A version that is being written while acts of a group are called: nobody else wrote that one. */
  sentVersion = 0;
  /** The call that is under way, unless it is one of a group's. */
  call: CallContext | undefined;
  /** Calls that have outlived their time and have not returned; undefined where there never was one. */
  orphans: OrphanedCalls | undefined;
  /** That the database has forgotten it was told. */
  isRewound = false;
  departure: Departure | undefined;
  #told: Stoppable | undefined;

  constructor(
    record: Omit<SagaRecord, "entries">,
    definition: AnySaga,
    localNowMs: number,
    refusal?: ControlDetails,
  ) {
    this.refusal = refusal;
    this.id = record.id;
    this.definition = definition;
    this.input = record.input;
    this.token = record.token;
    this.epoch = record.epoch;
    this.version = record.version;
    this.state = record.state;
    this.unconfirmedRecovery = record.recoveryAttempts > 0;
    this.stepBegunAtMs = localNowMs;
    this.deadlineAtMs =
      record.deadlineAtMs === undefined ? undefined : localNowMs + (record.deadlineAtMs - record.nowMs);
    this.hasDeadlines =
      this.deadlineAtMs !== undefined || definition.steps.some((step) => step.deadlineMs !== undefined);
    this.hasWaits = record.plan.some(({ wait }) => wait !== undefined);
    if (record.plan.some(({ group }) => group !== undefined)) {
      this.begunAtMs = new Map();
      this.dueAtMs = new Map();
    }
    this.adopt(record.state, record.nowMs, localNowMs);
  }

  /** Takes over a state that was read from the database. */
  adopt(state: SagaState, databaseNowMs: number, localNowMs: number): void {
    this.state = state;
    this.results = {};
    // Most are empty, and emptying a map makes a new table even then.
    if (this.begunAtMs.size > 0) this.begunAtMs.clear();
    if (this.dueAtMs.size > 0) this.dueAtMs.clear();
    for (const [index, step] of state.steps.entries()) {
      if (step.act === "done" || (step.act === "skipped" && step.result !== undefined))
        this.results[resultName(state.plan[index] as PlannedStep)] = step.result;
      if (step.act === "retry" || step.act === "begun" || step.act === "waiting") {
        const begunAgoMs = step.begunAtMs === undefined ? 0 : databaseNowMs - step.begunAtMs;
        this.stepBegunAtMs = localNowMs - begunAgoMs;
        const { name, group } = state.plan[index] as PlannedStep;
        if (!group) continue;
        this.begunAtMs.set(name, this.stepBegunAtMs);
        if (step.act === "retry" && step.dueAtMs !== undefined)
          this.dueAtMs.set(name, localNowMs + step.dueAtMs - databaseNowMs);
      }
    }
  }

  step(name: string): StepDefinition {
    return this.definition.steps.find((step) => step.name === name) as StepDefinition;
  }

  /** The pool has a slot for it: a loss and a shutdown reach its calls from there. */
  attach(lease: Lease): void {
    this.lease = lease;
    lease.onStop(() => this.#tell(lease.stopped as StopReason));
  }

  depart(departure: Departure): void {
    this.departure = departure;
  }

  /** What it was told while nothing was called, or last of all. */
  get stopReason(): StopReason | undefined {
    return this.lease.stopped ?? this.#told?.stopReason;
  }

  /** For waits between two calls. */
  get signal(): AbortSignal {
    this.#told ??= new Stoppable();
    return this.#told.signal;
  }

  /** What was told before has been heeded: only a shutdown and a loss stay. */
  heed(): void {
    if (this.lease.stopped === undefined) this.#told = undefined;
  }

  /** Hears a call on whose answer the saga no longer waits. */
  hear(command: CallCommand, late: Promise<Called | undefined>, isHarmless: boolean): void {
    this.orphans ??= new OrphanedCalls();
    this.orphans.add(command, late, isHarmless);
  }

  stop(reason: StopReason): void {
    if (reason === "lost") this.lease.stop(reason);
    else this.#tell(reason);
  }

  #tell(reason: StopReason): void {
    this.#told ??= new Stoppable();
    this.#told.stop(reason);
    if (this.call) stopCall(this.call, reason);
    if (this.members) for (const { call } of this.members) if (call) stopCall(call, reason);
  }
}
