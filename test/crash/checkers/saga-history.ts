/**
 * The history of a saga: the checker reads its log line by line and checks each line against the rules of the state
 * machine. This is a second, independent reading of the log. Only `evolve`, the meaning of one line, is shared with the
 * engine.
 */
import { claimCount } from "../../../src/core/claim-token.ts";
import { FIRST_CLAIM } from "../../support/claims.ts";
import { partOf } from "../../../src/core/saga/part-name.ts";
import { openingName } from "../../../src/core/saga/path.ts";
import type { PlannedStep } from "../../../src/core/saga/plan.ts";
import { pivotBegun } from "../../../src/core/saga/interpreter.ts";
import { evolve } from "../../../src/core/saga/evolve.ts";
import {
  initial,
  reversalOf,
  stateAt,
  type SagaState,
  type StepState,
} from "../../../src/core/saga/state.ts";
import { canTurn, undoDue } from "../../../src/core/saga/undoing.ts";
import { callKey } from "../../../src/sagas/engine/call-key.ts";
import type { Failure, Mark } from "../../../src/core/saga/entry.ts";
import { SHORT_WAIT_MS } from "../../../src/sagas/driver/wait.ts";
import type { LogEntry, SagaRecord } from "../../../src/sagas/journal/journal.ts";

/** A durable start of a call: the token and the line that recorded it. */
export interface CallStart {
  readonly token: number;
  readonly version: number;
}

export interface SagaHistory {
  readonly record: SagaRecord;
  readonly state: SagaState;
  /** Every start of a call, by idempotency key. */
  readonly starts: ReadonlyMap<string, readonly CallStart[]>;
  /** Keys of calls that are recorded as done. */
  readonly done: ReadonlySet<string>;
  /** Keys of calls that are recorded as refused (err). */
  readonly refused: ReadonlySet<string>;
  /** Keys of acts that were started once and never called, because their circuit breaker was open. */
  readonly uncalled: ReadonlySet<string>;
  /** An operator skipped or resolved some of its work: then the operator answers for the effects. */
  readonly isByOperator: boolean;
  readonly claims: number;
  /** Lost workers since the saga last made progress; undefined if the log alone cannot tell. */
  readonly recoveries: number | undefined;
  readonly owned: boolean;
  readonly violations: readonly string[];
}

const OPERATOR_TOKEN = -1;
const OPERATOR_STEPS = new Set(["$cancel", "$turn", "$retry", "$skip", "$resolve", "$pause", "$resume"]);
/** No line of a paused saga: no worker claims it, and a second pause changes nothing. */
const WAITS_FOR_RESUME = new Set(["$claim", "$pause"]);
const TERMINAL = new Set(["COMPLETED", "FAILED"]);

/** The statuses in which a control line may be written. */
const CONTROL: Readonly<Record<string, readonly SagaState["status"][]>> = {
  $claim: ["PENDING", "RUNNING", "COMPENSATING"],
  $release: ["RUNNING", "COMPENSATING"],
  $cancel: ["PENDING", "RUNNING"],
  $expire: ["RUNNING"],
  $return: ["RUNNING", "COMPENSATING", "STALLED"],
  $turn: ["RUNNING", "STALLED"],
  $stall: ["RUNNING", "COMPENSATING"],
  $retry: ["STALLED"],
  $skip: ["STALLED", "RUNNING"],
  $resolve: ["STALLED", "RUNNING"],
  $pause: ["PENDING", "RUNNING", "COMPENSATING", "STALLED"],
  $resume: ["PENDING", "RUNNING", "COMPENSATING", "STALLED"],
};

/** The token of the first claim: from the first line that was written under it, or else from the row. */
function firstToken({ entries, token }: SagaRecord): number {
  return (
    entries.find((entry) => claimCount(entry.token) === 1)?.token ??
    (claimCount(token) === 1 ? token : FIRST_CLAIM)
  );
}

/** Reads one saga's log from its first line to its last. */
export class HistoryReader {
  readonly #record: SagaRecord;
  readonly #recoveryMax: number;
  readonly #violations: string[] = [];
  readonly #starts = new Map<string, CallStart[]>();
  readonly #done = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #uncalled = new Set<string>();
  #state: SagaState;
  #token: number;
  #isByOperator = false;
  #claims = 0;
  #owned: boolean;
  #recoveries = 0;
  #unconfirmedRecovery = false;
  #isUncertain = false;
  #isResolved = false;
  /** The lines are those of the saga that this one takes back: they were checked where they were written. */
  #isCopied: boolean;

  constructor(record: SagaRecord, recoveryMax: number) {
    this.#record = record;
    this.#recoveryMax = recoveryMax;
    this.#state = initial(record.plan, record.begun);
    this.#isCopied = record.reverses !== undefined;
    this.#token = record.begun && !this.#isCopied ? firstToken(record) : 0;
    this.#owned = record.begun && !this.#isCopied;
    if (record.begun)
      this.#recordStart({ step: openingName(record.plan[0] as PlannedStep), action: "act" }, this.#token, 1);
  }

  read(): SagaHistory {
    const { entries } = this.#record;
    entries.forEach((entry, index) => this.#readLine(entry, index + 2, entries[index + 1]));
    return {
      record: this.#record,
      state: this.#state,
      starts: this.#starts,
      done: this.#done,
      refused: this.#refused,
      uncalled: this.#uncalled,
      isByOperator: this.#isByOperator,
      claims: this.#claims,
      recoveries: this.#isUncertain ? undefined : this.#recoveries,
      owned: this.#owned,
      violations: this.#violations,
    };
  }

  #report(rule: string, what: string): void {
    if (!this.#isCopied) this.#violations.push(`${rule}: saga ${this.#record.id}: ${what}`);
  }

  #readLine(entry: LogEntry, version: number, following: LogEntry | undefined): void {
    if (entry.step === "$reverse") {
      if (!this.#isCopied || !(this.#state.status === "COMPLETED"))
        this.#report("S-36", `line ${entry.id} takes back a saga that is ${this.#state.status}`);
      this.#isCopied = false;
      this.#state = reversalOf(this.#state);
      return;
    }
    const { status } = this.#state;
    const what = `line ${entry.id} (${entry.step} ${entry.action} ${entry.status}, token ${entry.token})`;
    if (entry.id !== version) this.#report("I9", `${what} is at the position of line ${version}`);
    if (TERMINAL.has(status)) this.#report("I4", `${what} was written after the saga was ${status}`);
    this.#checkFence(entry, what);
    if (this.#state.paused && (entry.next || isBeginning(entry) || WAITS_FOR_RESUME.has(entry.step)))
      this.#report("S-44", `${what} was written while the saga was paused`);
    if (entry.step.startsWith("$")) {
      if (!CONTROL[entry.step]?.includes(status)) this.#report("K-14", `${what} was written while ${status}`);
    } else if (isBeginning(entry)) this.#checkStart(entry, what);
    else if (entry.status === "STARTED") this.#checkGoesOn(entry, what);
    else this.#checkEnd(entry, what);
    const before = this.#state;
    try {
      this.#state = evolve(before, { ...entry, next: undefined });
      if (entry.next) this.#checkStart(entry.next, `the call in ${what}`);
      this.#state = evolve(before, entry);
    } catch (error) {
      this.#report("K-14", `${what} cannot follow: ${String(error)}`);
    }
    if (entry.step === "$resolve") this.#isResolved = true;
    if (entry.step === "$turn") this.#withdrawStarts(before);
    if (isBeginning(entry)) this.#recordStart(entry, entry.token, entry.id);
    if (entry.next) this.#recordStart(entry.next, entry.token, entry.id);
    if (!this.#isCopied) this.#trackOwnership(entry, before, following, what);
  }

  /** A claim gets the next token. After it, no line may be written under an older token. */
  #checkFence(entry: LogEntry, what: string): void {
    if (entry.token === OPERATOR_TOKEN) {
      if (!OPERATOR_STEPS.has(entry.step)) this.#report("I3", `${what} was written without a claim`);
      return;
    }
    if (this.#isCopied) return;
    const isClaim = entry.step === "$claim";
    const holds = isClaim
      ? claimCount(entry.token) === claimCount(this.#token) + 1
      : entry.token === this.#token;
    if (!holds) this.#report("I3", `${what} was written although claim ${claimCount(this.#token)} held`);
    if (isClaim) this.#token = entry.token;
  }

  #checkStart(mark: Mark, what: string): void {
    const { plan, steps, status } = this.#state;
    const { index, planned, step } = this.#find(mark.step);
    if (mark.action === "act") {
      const due = this.#due();
      if (status !== "RUNNING") this.#report("S-06", `${what} begins an act while ${status}`);
      else if (index !== due && !this.#isInGroupWith(due, index))
        this.#report("S-01", `${what} begins an act out of order`);
      else if (!this.#mayBegin(mark, planned, step))
        this.#report("I1", `${what} begins an act that is ${step.act}`);
      else if (this.#state.cancel && canTurn(this.#state) && !pivotBegun(this.#state))
        this.#report("S-23", `${what} begins an act although the saga was cancelled`);
      this.#checkLimit(index, what);
      const before = planned.instead === undefined ? undefined : plan[index - 1];
      if (before && this.#mayHaveEffects(before))
        this.#report(
          "S-20",
          `${what} begins a fallback, but ${before.name} may have happened and was not undone`,
        );
      return;
    }
    const { undo } = step;
    const running = steps.findIndex(isRunning);
    if (running >= 0 && !(running === index && undo === "retry"))
      this.#report("S-12", `${what} begins an undo while a call of ${String(plan[running]?.name)} runs`);
    if (this.#countActing(() => true) > 0)
      this.#report("S-24", `${what} begins an undo while acts of a group or a list run`);
    // While the saga goes forward, only a step that its fallback replaces is undone, before the fallback starts.
    const isPassedOver = planned.fallback !== undefined && steps[index + 1]?.act === "chosen";
    if (status === "RUNNING" && isPassedOver) return;
    const last = undoDue(this.#state);
    const isReversal = this.#state.isReversal && status === "RUNNING";
    if (status !== "COMPENSATING" && !isReversal)
      this.#report("S-06", `${what} begins an undo while ${status}`);
    else if (index !== last?.index || last.item !== (planned.each && partOf(mark.step).number))
      this.#report("I6", `${what} begins an undo out of order`);
    else if (undo !== "none" && undo !== "retry" && !(undo === "waiting" && planned.child !== undefined))
      this.#report("I1", `${what} begins an undo that is ${undo}`);
  }

  /** The step that a name in the log belongs to, and the state of the step or of the item that it names. */
  #find(name: string): { readonly index: number; readonly planned: PlannedStep; readonly step: StepState } {
    const part = partOf(name);
    const index = this.#state.plan.findIndex((one) => one.name === part.step);
    const planned = this.#state.plan[index] ?? ({} as PlannedStep);
    const step = planned.each ? stateAt(this.#state, index, part.number) : this.#state.steps[index];
    return { index, planned, step: step ?? ({} as StepState) };
  }

  /** The first step of the way that is not done. */
  #due(): number {
    const { plan, steps } = this.#state;
    // After a person has ended the saga, only what follows its end is left.
    if (this.#isResolved) return plan.findIndex(({ end }) => end === "completed");
    return steps.findIndex((one, at) => {
      if (one.act === "done" || one.act === "skipped" || this.#isOffTheWay(at)) return false;
      if (plan[at]?.end === "failed") return false;
      // A chosen fallback is due, and then the step that it replaces is not.
      if (plan[at]?.instead !== undefined) return one.act !== "none";
      return plan[at]?.fallback === undefined || steps[at + 1]?.act === "none";
    });
  }

  /** It stands in a branch that was not chosen, or whose choice itself stands in such a branch. */
  #isOffTheWay(at: number): boolean {
    const { plan, steps } = this.#state;
    const branch = plan[at]?.branch;
    if (!branch) return false;
    const choice = plan.findIndex(({ name }) => name === branch.choice);
    return this.#isOffTheWay(choice) || (steps[choice]?.result === true) !== branch.when;
  }

  /** A round begins after the wait for it; an item once its list is recorded; anything else once, and again where it is tried again. */
  #mayBegin({ step: name }: Mark, { repeat, each, name: own }: PlannedStep, step: StepState): boolean {
    const { act, round = 0 } = step;
    const { number } = partOf(name);
    if (repeat && act === "waiting") return number === round + 1 && number <= repeat.max;
    if (repeat && act === "retry") return number === round;
    if (each && number !== undefined) {
      const { items, act: list } = this.#find(own).step;
      if (items === undefined || list !== "listed") return false;
    }
    return act === "none" || act === "chosen" || act === "retry";
  }

  /** The steps of a parallel group act in any order. */
  #isInGroupWith(due: number, index: number): boolean {
    const { plan } = this.#state;
    const group = plan[due]?.group;
    return group !== undefined && plan.slice(due, index + 1).every((step) => step.group?.name === group.name);
  }

  /** A group, or a list, runs at most `limit` acts at the same time, and starts none after a failure. */
  #checkLimit(index: number, what: string): void {
    const { group, each } = this.#state.plan[index] ?? {};
    const items = this.#state.steps[index]?.items;
    if (!group && !items) return;
    const beside = items
      ? items.begun
      : this.#countActing((other) => this.#state.plan[other]?.group?.name === group?.name);
    const limit = group ? group.limit : each?.limit;
    if (beside >= (limit ?? Infinity)) this.#report("S-24", `${what} begins one act too many at once`);
    if (this.#state.failure)
      this.#report("S-24", `${what} begins an act after another of its group or list has failed`);
  }

  #countActing(isMeant: (index: number) => boolean): number {
    const { plan, steps } = this.#state;
    return steps.filter(({ act, items }, index) => {
      const isActing = items ? items.begun > 0 : act === "begun" && plan[index]?.group;
      return isActing && isMeant(index);
    }).length;
  }

  /** True if the step may have happened, can be undone, and was not undone. */
  #mayHaveEffects({ name, undo, atomic, undoOnErr }: PlannedStep): boolean {
    const act = this.#key({ step: name, action: "act" });
    const starts = this.#starts.get(act)?.length ?? 0;
    const isSure = starts === 0 || (starts === 1 && (this.#refused.has(act) || this.#uncalled.has(act)));
    if (!undo || atomic || (isSure && !(undoOnErr && this.#refused.has(act)))) return false;
    return !this.#done.has(this.#key({ step: name, action: "compensate" }));
  }

  /** A call is over and its step is not: the list is recorded, or a child is waited for. */
  #checkGoesOn(entry: LogEntry, what: string): void {
    const { planned, step } = this.#find(entry.step);
    const now = entry.action === "act" ? step.act : step.undo;
    const isHeard = step.runningSinceMs !== undefined || this.#hasJustReturned(entry);
    const isAgain = planned.child !== undefined && now === "waiting" && entry.action === "compensate";
    if (!planned.each && planned.child === undefined)
      this.#report("K-14", `${what} goes on with a step that has no list and no child`);
    else if (now !== "begun" && !isHeard && !isAgain)
      this.#report("S-07", `${what} goes on with a call that is ${now}, not begun`);
  }

  #checkEnd(entry: LogEntry, what: string): void {
    const key = this.#key(entry);
    const { planned, step } = this.#find(entry.step);
    const now = entry.action === "act" ? step.act : step.undo;
    const { number } = partOf(entry.step);
    const isPaused = planned.repeat !== undefined && number === undefined && entry.action === "act";
    const isChild = planned.child !== undefined && (entry.details ?? "").includes('"number"');
    const open = planned.wait || isPaused || isChild ? "waiting" : "begun";
    // A call that exceeded its deadline may still succeed.
    const isHeard = step.runningSinceMs !== undefined || this.#hasJustReturned(entry);
    if (now !== open && !(isHeard && entry.status === "COMPLETED" && now !== "done"))
      this.#report("S-07", `${what} ends a call that is ${now ?? "unknown"}, not begun`);
    if (planned.each && number === undefined && entry.status === "COMPLETED")
      this.#report("S-33", `${what} ends a list by itself`);
    if (this.#done.has(key)) this.#report("I1", `${what} records an outcome that was recorded before`);
    if (entry.status === "COMPLETED") this.#done.add(key);
    if (entry.status !== "FAILED") return;
    const { kind } = JSON.parse(entry.details ?? "{}") as Failure;
    if (kind === "err" || kind === "child") this.#refused.add(key);
    if (kind === "open" && this.#starts.get(key)?.length === 1) this.#uncalled.add(key);
  }

  /** The line before says that the step's call has returned. */
  #hasJustReturned({ step, id }: LogEntry): boolean {
    const before = this.#record.entries.find((one) => one.id === id - 1);
    const about = before?.step === "$return" ? (JSON.parse(before.details ?? "{}") as { step?: string }) : {};
    return about.step === step;
  }

  #recordStart(mark: Mark, token: number, version: number): void {
    const key = this.#key(mark);
    this.#starts.set(key, [...(this.#starts.get(key) ?? []), { token, version }]);
  }

  /** A `$turn` line says that the started calls of a group or a list were not made. The recorded calls show if that is wrong. */
  #withdrawStarts({ plan, steps }: SagaState): void {
    for (const [index, { name, group }] of plan.entries()) {
      const { act, items } = steps[index] as StepState;
      if (group && act === "begun") this.#withdraw(name);
      const count = items?.list.length ?? 0;
      for (let number = 0; number < count; number++)
        if (stateAt({ steps } as SagaState, index, number).act === "begun")
          this.#withdraw(`${name}[${number}]`);
    }
  }

  #withdraw(step: string): void {
    const key = this.#key({ step, action: "act" });
    const left = (this.#starts.get(key) ?? []).slice(0, -1);
    if (left.length > 0) this.#starts.set(key, left);
    else this.#starts.delete(key);
  }

  /** The idempotency key of a call: an item is known by its own key, not by its number. */
  #key({ step: name, action }: Mark): string {
    const { step, number } = partOf(name);
    const index = this.#state.plan.findIndex((one) => one.name === step);
    const item = number === undefined ? undefined : this.#state.steps[index]?.items?.list[number];
    const id = this.#record.reverses ?? this.#record.id;
    return callKey(id, step, item ? `${step}[${item.key}]` : name, action);
  }

  /** Tracks the owner and the recoveries. A claim of a saga that was not released is a recovery. */
  #trackOwnership(entry: LogEntry, before: SagaState, following: LogEntry | undefined, what: string): void {
    if (entry.step === "$claim") {
      this.#claims++;
      if (this.#owned) this.#recoveries++;
      this.#owned = true;
      this.#unconfirmedRecovery = this.#recoveries > 0;
      this.#checkBudget(following, what);
    } else if (entry.token === OPERATOR_TOKEN) {
      if (["$skip", "$resolve"].includes(entry.step)) this.#isByOperator = true;
      if (this.#owned && this.#state.status === before.status) return;
      this.#owned = false;
      this.#recoveries = 0;
    } else if (entry.step === "$release") this.#owned = false;
    else if (this.#isWaiting(entry) || this.#isMember(entry)) this.#trackWait(entry, following);
    else if (entry.status === "FAILED") this.#trackFailure(entry, following);
    else if (entry.status === "COMPLETED" && !entry.step.startsWith("$") && this.#unconfirmedRecovery) {
      this.#unconfirmedRecovery = false;
      this.#recoveries = 0;
    }
    if (TERMINAL.has(this.#state.status) || this.#state.status === "STALLED") this.#owned = false;
  }

  /** The saga may be released after any outcome of a group or a list, if only later retries are left. */
  #isMember({ step, action, status }: LogEntry): boolean {
    const isEnd = action === "act" && status !== "STARTED";
    const { planned } = this.#find(step);
    return isEnd && (planned.group ?? planned.each) !== undefined;
  }

  /** With this line the saga waits. */
  #isWaiting({ step }: LogEntry): boolean {
    return (
      !step.startsWith("$") &&
      this.#state.steps.some(({ act, undo }) => act === "waiting" || undo === "waiting")
    );
  }

  /** A wait releases the saga, unless it is short or over already. The next line tells, or else the row. */
  #trackWait(entry: LogEntry, following: LogEntry | undefined): void {
    if (following === undefined) this.#owned = this.#record.owner !== undefined;
    else this.#owned = following.token === entry.token && following.step !== "$claim";
    // The next claim may follow a release or a lost worker.
    this.#isUncertain = true;
  }

  /** A long retry wait releases the saga, unless the saga compensates at once. */
  #trackFailure(entry: LogEntry, following: LogEntry | undefined): void {
    const { kind, waitMs = 0 } = JSON.parse(entry.details ?? "{}") as Failure;
    if (kind !== "retry" || waitMs <= SHORT_WAIT_MS || this.#state.cancel) return;
    // A saga with calls that have not returned is not released.
    if (this.#state.steps.some(isRunning)) return;
    if (following?.step === "$turn" && following.token === entry.token) return;
    this.#owned = false;
    // A deadline that has just passed looks the same in the log, and keeps the owner.
    if (this.#record.deadlineAtMs !== undefined) this.#isUncertain = true;
  }

  /** The claim that exceeds the recovery budget must stall the saga before another call is made. */
  #checkBudget(following: LogEntry | undefined, what: string): void {
    if (this.#recoveries <= this.#recoveryMax) return;
    if (this.#recoveries > this.#recoveryMax + 1)
      this.#report("I10", `${what} is recovery ${this.#recoveries} of at most ${this.#recoveryMax}`);
    else if (following && following.step !== "$stall" && following.step !== "$claim" && following.token > 0)
      this.#report("I10", `${what} exceeded the recovery budget, but the saga continued`);
  }
}

/** A line with which a call begins. One with details says that a call is over, and its step is not. */
function isBeginning({ step, status, details }: LogEntry): boolean {
  return status === "STARTED" && details === null && !step.startsWith("$");
}

/** A call of the step, or of one of its items, has outlived its time. */
function isRunning({ runningSinceMs, items }: StepState): boolean {
  return runningSinceMs !== undefined || (items?.running ?? 0) > 0;
}
