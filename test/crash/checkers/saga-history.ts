/**
 * The history of a saga: the checker reads its log line by line and checks each line against the rules of the state
 * machine. This is a second, independent reading of the log. Only `evolve`, the meaning of one line, is shared with the
 * engine.
 */
import { claimCount } from "../../../src/core/claim-token.ts";
import { FIRST_CLAIM } from "../../support/claims.ts";
import type { PlannedStep } from "../../../src/core/saga/plan.ts";
import { pivotBegun } from "../../../src/core/saga/interpreter.ts";
import { evolve } from "../../../src/core/saga/evolve.ts";
import { initial, type SagaState, type StepState } from "../../../src/core/saga/state.ts";
import { canTurn, undoDue } from "../../../src/core/saga/undoing.ts";
import { idempotencyKey } from "../../../src/core/identity.ts";
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
const OPERATOR_STEPS = new Set(["$cancel", "$turn", "$retry", "$skip", "$resolve"]);
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

  constructor(record: SagaRecord, recoveryMax: number) {
    this.#record = record;
    this.#recoveryMax = recoveryMax;
    this.#state = initial(record.plan, record.begun);
    this.#token = record.begun ? firstToken(record) : 0;
    this.#owned = record.begun;
    if (record.begun)
      this.#recordStart({ step: (record.plan[0] as PlannedStep).name, action: "act" }, this.#token, 1);
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
    this.#violations.push(`${rule}: saga ${this.#record.id}: ${what}`);
  }

  #readLine(entry: LogEntry, version: number, following: LogEntry | undefined): void {
    const { status } = this.#state;
    const what = `line ${entry.id} (${entry.step} ${entry.action} ${entry.status}, token ${entry.token})`;
    if (entry.id !== version) this.#report("I9", `${what} is at the position of line ${version}`);
    if (TERMINAL.has(status)) this.#report("I4", `${what} was written after the saga was ${status}`);
    this.#checkFence(entry, what);
    if (entry.step.startsWith("$")) {
      if (!CONTROL[entry.step]?.includes(status)) this.#report("K-14", `${what} was written while ${status}`);
    } else if (entry.status === "STARTED") this.#checkStart(entry, what);
    else this.#checkEnd(entry, what);
    const before = this.#state;
    try {
      this.#state = evolve(before, { ...entry, next: undefined });
      if (entry.next) this.#checkStart(entry.next, `the call in ${what}`);
      this.#state = evolve(before, entry);
    } catch (error) {
      this.#report("K-14", `${what} cannot follow: ${String(error)}`);
    }
    if (entry.step === "$turn") this.#withdrawStarts(before);
    if (entry.status === "STARTED") this.#recordStart(entry, entry.token, entry.id);
    if (entry.next) this.#recordStart(entry.next, entry.token, entry.id);
    this.#trackOwnership(entry, before, following, what);
  }

  /** A claim gets the next token. After it, no line may be written under an older token. */
  #checkFence(entry: LogEntry, what: string): void {
    if (entry.token === OPERATOR_TOKEN) {
      if (!OPERATOR_STEPS.has(entry.step)) this.#report("I3", `${what} was written without a claim`);
      return;
    }
    const isClaim = entry.step === "$claim";
    const holds = isClaim
      ? claimCount(entry.token) === claimCount(this.#token) + 1
      : entry.token === this.#token;
    if (!holds) this.#report("I3", `${what} was written although claim ${claimCount(this.#token)} held`);
    if (isClaim) this.#token = entry.token;
  }

  #checkStart({ step, action }: Mark, what: string): void {
    const { plan, steps, status } = this.#state;
    const index = plan.findIndex(({ name }) => name === step);
    const { act, undo } = (steps[index] ?? {}) as StepState;
    if (action === "act") {
      const due = steps.findIndex((one, at) => {
        if (one.act === "done" || one.act === "skipped") return false;
        // A chosen fallback is due, and then the step that it replaces is not.
        if (plan[at]?.instead !== undefined) return one.act !== "none";
        return plan[at]?.fallback === undefined || steps[at + 1]?.act === "none";
      });
      if (status !== "RUNNING") this.#report("S-06", `${what} begins an act while ${status}`);
      else if (index !== due && !this.#isInGroupWith(due, index))
        this.#report("S-01", `${what} begins an act out of order`);
      else if (act !== "none" && act !== "chosen" && act !== "retry")
        this.#report("I1", `${what} begins an act that is ${act}`);
      else if (this.#state.cancel && canTurn(this.#state) && !pivotBegun(this.#state))
        this.#report("S-23", `${what} begins an act although the saga was cancelled`);
      this.#checkGroupLimit(index, what);
      const before = plan[index]?.instead === undefined ? undefined : plan[index - 1];
      if (before && this.#mayHaveEffects(before))
        this.#report(
          "S-20",
          `${what} begins a fallback, but ${before.name} may have happened and was not undone`,
        );
      return;
    }
    const running = steps.findIndex(({ runningSinceMs }) => runningSinceMs !== undefined);
    if (running >= 0 && !(running === index && undo === "retry"))
      this.#report("S-12", `${what} begins an undo while a call of ${String(plan[running]?.name)} runs`);
    if (this.#countActing(() => true) > 0)
      this.#report("S-24", `${what} begins an undo while acts of a group run`);
    // While the saga goes forward, only a step that its fallback replaces is undone, before the fallback starts.
    const isPassedOver = plan[index]?.fallback !== undefined && steps[index + 1]?.act === "chosen";
    if (status === "RUNNING" && isPassedOver) return;
    if (status !== "COMPENSATING") this.#report("S-06", `${what} begins an undo while ${status}`);
    else if (index !== undoDue(this.#state)) this.#report("I6", `${what} begins an undo out of order`);
    else if (undo !== "none" && undo !== "retry")
      this.#report("I1", `${what} begins an undo that is ${undo}`);
  }

  /** The steps of a parallel group act in any order. */
  #isInGroupWith(due: number, index: number): boolean {
    const { plan } = this.#state;
    const group = plan[due]?.group;
    return group !== undefined && plan.slice(due, index + 1).every((step) => step.group?.name === group.name);
  }

  /** A group runs at most `limit` steps at the same time, and starts none after a failure. */
  #checkGroupLimit(index: number, what: string): void {
    const group = this.#state.plan[index]?.group;
    if (!group) return;
    const beside = this.#countActing((other) => this.#state.plan[other]?.group?.name === group.name);
    if (beside >= (group.limit ?? Infinity)) this.#report("S-24", `${what} begins one act too many at once`);
    if (this.#state.failure)
      this.#report("S-24", `${what} begins an act after another of its group has failed`);
  }

  #countActing(isMeant: (index: number) => boolean): number {
    const { plan, steps } = this.#state;
    return steps.filter(({ act }, index) => act === "begun" && plan[index]?.group && isMeant(index)).length;
  }

  /** True if the step may have happened, can be undone, and was not undone. */
  #mayHaveEffects({ name, undo, atomic, undoOnErr }: PlannedStep): boolean {
    const act = this.#key({ step: name, action: "act" });
    const starts = this.#starts.get(act)?.length ?? 0;
    const isSure = starts === 0 || (starts === 1 && (this.#refused.has(act) || this.#uncalled.has(act)));
    if (!undo || atomic || (isSure && !(undoOnErr && this.#refused.has(act)))) return false;
    return !this.#done.has(this.#key({ step: name, action: "compensate" }));
  }

  #checkEnd(entry: LogEntry, what: string): void {
    const key = this.#key(entry);
    const index = this.#state.plan.findIndex(({ name }) => name === entry.step);
    const step = this.#state.steps[index];
    const now = entry.action === "act" ? step?.act : step?.undo;
    const open = this.#state.plan[index]?.wait ? "waiting" : "begun";
    // A call that exceeded its deadline may still succeed.
    const isHeard = step?.runningSinceMs !== undefined || this.#hasJustReturned(entry);
    if (now !== open && !(isHeard && entry.status === "COMPLETED" && now !== "done"))
      this.#report("S-07", `${what} ends a call that is ${now ?? "unknown"}, not begun`);
    if (this.#done.has(key)) this.#report("I1", `${what} records an outcome that was recorded before`);
    if (entry.status === "COMPLETED") this.#done.add(key);
    if (entry.status !== "FAILED") return;
    const { kind } = JSON.parse(entry.details ?? "{}") as Failure;
    if (kind === "err") this.#refused.add(key);
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

  /** A `$turn` line says that the started calls of a group were not made. The recorded calls show if that is wrong. */
  #withdrawStarts({ plan, steps }: SagaState): void {
    for (const [index, { name, group }] of plan.entries()) {
      if (!group || steps[index]?.act !== "begun") continue;
      const key = this.#key({ step: name, action: "act" });
      const left = (this.#starts.get(key) ?? []).slice(0, -1);
      if (left.length > 0) this.#starts.set(key, left);
      else this.#starts.delete(key);
    }
  }

  #key({ step, action }: Mark): string {
    return idempotencyKey(this.#record.id, step, action);
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
    else if (this.#beginsWait(entry) || this.#isMember(entry)) this.#trackWait(entry, following);
    else if (entry.status === "FAILED") this.#trackFailure(entry, following);
    else if (entry.status === "COMPLETED" && !entry.step.startsWith("$") && this.#unconfirmedRecovery) {
      this.#unconfirmedRecovery = false;
      this.#recoveries = 0;
    }
    if (TERMINAL.has(this.#state.status) || this.#state.status === "STALLED") this.#owned = false;
  }

  /** The saga may be released after any outcome of a group, if only later retries are left. */
  #isMember({ step, action, status }: LogEntry): boolean {
    const isEnd = action === "act" && status !== "STARTED";
    return isEnd && this.#state.plan.some(({ name, group }) => group && name === step);
  }

  #beginsWait({ step, status, next }: LogEntry): boolean {
    const begun = next?.step ?? (status === "STARTED" ? step : undefined);
    return this.#state.plan.some(({ name, wait }) => wait && name === begun);
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
    if (this.#state.steps.some(({ runningSinceMs }) => runningSinceMs !== undefined)) return;
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
