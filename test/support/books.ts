/**
 * The books: what the tables say about every saga, read line by line and held against the rules of the machine. This
 * is the checker's own reading of the log. Only the meaning of one line (`evolve`) is shared with the engine.
 */
import { claimCount, FIRST_CLAIM } from "../../src/core/claim-token.ts";
import type { PlannedStep } from "../../src/core/saga/plan.ts";
import { pivotBegun } from "../../src/core/saga/interpreter.ts";
import { evolve } from "../../src/core/saga/evolve.ts";
import { initial, type SagaState, type StepState } from "../../src/core/saga/state.ts";
import { canTurn, undoDue } from "../../src/core/saga/undoing.ts";
import { idempotencyKey } from "../../src/core/identity.ts";
import type { Failure, Mark } from "../../src/core/saga/entry.ts";
import { SHORT_WAIT_MS } from "../../src/sagas/driver/wait.ts";
import type { LogEntry, SagaRecord } from "../../src/sagas/journal/journal.ts";

/** One time that a call was begun, durably: under which token, and by which line. */
export interface Begin {
  readonly token: number;
  readonly version: number;
}

export interface Book {
  readonly record: SagaRecord;
  readonly state: SagaState;
  /** By idempotency key: every time that this call was begun. */
  readonly begins: ReadonlyMap<string, readonly Begin[]>;
  /** Keys whose outcome is booked: done, or refused by the business. */
  readonly done: ReadonlySet<string>;
  readonly refused: ReadonlySet<string>;
  /** Keys of acts that were begun once and never called, because their circuit was open. */
  readonly uncalled: ReadonlySet<string>;
  /** A person has ended it, or taken over some of its work: then people answer for the world. */
  readonly byHand: boolean;
  readonly claims: number;
  /** How often its worker was lost since it last got on; undefined where the log alone cannot tell. */
  readonly recoveries: number | undefined;
  readonly owned: boolean;
  readonly violations: readonly string[];
}

const OPERATOR_TOKEN = -1;
const OUTSIDE = new Set(["$cancel", "$turn", "$retry", "$skip", "$resolve"]);
const TERMINAL = new Set(["COMPLETED", "FAILED"]);

/** In which states a control line may stand. */
const CONTROL: Readonly<Record<string, readonly SagaState["status"][]>> = {
  $claim: ["PENDING", "RUNNING", "COMPENSATING"],
  $release: ["RUNNING", "COMPENSATING"],
  $cancel: ["PENDING", "RUNNING"],
  $expire: ["RUNNING"],
  $return: ["RUNNING", "COMPENSATING", "STALLED"],
  $turn: ["RUNNING", "STALLED"],
  $stall: ["RUNNING", "COMPENSATING"],
  $retry: ["STALLED"],
  $skip: ["STALLED"],
  $resolve: ["STALLED"],
};

/** Whoever started it: the first line that was written under a first claim tells, or else the row. */
function firstToken({ entries, token }: SagaRecord): number {
  return (
    entries.find((entry) => claimCount(entry.token) === 1)?.token ??
    (claimCount(token) === 1 ? token : FIRST_CLAIM)
  );
}

/** Reads one saga's log from its first line to its last. */
export class Reader {
  readonly #record: SagaRecord;
  readonly #recoveryMax: number;
  readonly #violations: string[] = [];
  readonly #begins = new Map<string, Begin[]>();
  readonly #done = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #uncalled = new Set<string>();
  #state: SagaState;
  #token: number;
  #byHand = false;
  #claims = 0;
  #owned: boolean;
  #recoveries = 0;
  #unconfirmedRecovery = false;
  #unsure = false;

  constructor(record: SagaRecord, recoveryMax: number) {
    this.#record = record;
    this.#recoveryMax = recoveryMax;
    this.#state = initial(record.plan, record.begun);
    this.#token = record.begun ? firstToken(record) : 0;
    this.#owned = record.begun;
    if (record.begun)
      this.#begin({ step: (record.plan[0] as PlannedStep).name, action: "act" }, this.#token, 1);
  }

  read(): Book {
    const { entries } = this.#record;
    entries.forEach((entry, index) => this.#line(entry, index + 2, entries[index + 1]));
    return {
      record: this.#record,
      state: this.#state,
      begins: this.#begins,
      done: this.#done,
      refused: this.#refused,
      uncalled: this.#uncalled,
      byHand: this.#byHand,
      claims: this.#claims,
      recoveries: this.#unsure ? undefined : this.#recoveries,
      owned: this.#owned,
      violations: this.#violations,
    };
  }

  #say(rule: string, what: string): void {
    this.#violations.push(`${rule}: saga ${this.#record.id}: ${what}`);
  }

  #line(entry: LogEntry, version: number, following: LogEntry | undefined): void {
    const { status } = this.#state;
    const what = `line ${entry.id} (${entry.step} ${entry.action} ${entry.status}, token ${entry.token})`;
    if (entry.id !== version) this.#say("I9", `${what} stands where line ${version} should`);
    if (TERMINAL.has(status)) this.#say("I4", `${what} was written after the saga was ${status}`);
    this.#fence(entry, what);
    if (entry.step.startsWith("$")) {
      if (!CONTROL[entry.step]?.includes(status)) this.#say("K-14", `${what} was written while ${status}`);
    } else if (entry.status === "STARTED") this.#mayBegin(entry, what);
    else this.#mayEnd(entry, what);
    const before = this.#state;
    try {
      this.#state = evolve(before, { ...entry, next: undefined });
      if (entry.next) this.#mayBegin(entry.next, `the call in ${what}`);
      this.#state = evolve(before, entry);
    } catch (error) {
      this.#say("K-14", `${what} cannot follow: ${String(error)}`);
    }
    if (entry.step === "$turn") this.#withdraw(before);
    if (entry.status === "STARTED") this.#begin(entry, entry.token, entry.id);
    if (entry.next) this.#begin(entry.next, entry.token, entry.id);
    this.#ownership(entry, before, following, what);
  }

  /** Whoever claims gets the next token, and from then on nobody writes under an older one. */
  #fence(entry: LogEntry, what: string): void {
    if (entry.token === OPERATOR_TOKEN) {
      if (!OUTSIDE.has(entry.step)) this.#say("I3", `${what} was written by nobody's claim`);
      return;
    }
    const isClaim = entry.step === "$claim";
    const holds = isClaim
      ? claimCount(entry.token) === claimCount(this.#token) + 1
      : entry.token === this.#token;
    if (!holds) this.#say("I3", `${what} was written although claim ${claimCount(this.#token)} held`);
    if (isClaim) this.#token = entry.token;
  }

  #mayBegin({ step, action }: Mark, what: string): void {
    const { plan, steps, status } = this.#state;
    const index = plan.findIndex(({ name }) => name === step);
    const { act, undo } = (steps[index] ?? {}) as StepState;
    if (action === "act") {
      const due = steps.findIndex((one, at) => {
        if (one.act === "done" || one.act === "skipped") return false;
        // A fallback is due where it was chosen, and then the step before it no longer is.
        if (plan[at]?.instead !== undefined) return one.act !== "none";
        return plan[at]?.fallback === undefined || steps[at + 1]?.act === "none";
      });
      if (status !== "RUNNING") this.#say("S-06", `${what} begins an act while ${status}`);
      else if (index !== due && !this.#isBeside(due, index))
        this.#say("S-01", `${what} begins an act out of order`);
      else if (act !== "none" && act !== "chosen" && act !== "retry")
        this.#say("I1", `${what} begins an act that is ${act}`);
      else if (this.#state.cancel && canTurn(this.#state) && !pivotBegun(this.#state))
        this.#say("S-23", `${what} begins an act although the saga was cancelled`);
      this.#mayJoin(index, what);
      const before = plan[index]?.instead === undefined ? undefined : plan[index - 1];
      if (before && this.#isLeft(before))
        this.#say(
          "S-20",
          `${what} begins a fallback, but ${before.name} may have happened and was not undone`,
        );
      return;
    }
    const running = steps.findIndex(({ runningSinceMs }) => runningSinceMs !== undefined);
    if (running >= 0 && !(running === index && undo === "retry"))
      this.#say("S-12", `${what} begins an undo while a call of ${String(plan[running]?.name)} runs`);
    if (this.#acting(() => true) > 0) this.#say("S-24", `${what} begins an undo while acts of a group run`);
    // Going forward, only a step that was passed over is undone, before its fallback begins.
    const isPassedOver = plan[index]?.fallback !== undefined && steps[index + 1]?.act === "chosen";
    if (status === "RUNNING" && isPassedOver) return;
    if (status !== "COMPENSATING") this.#say("S-06", `${what} begins an undo while ${status}`);
    else if (index !== undoDue(this.#state)) this.#say("I6", `${what} begins an undo out of order`);
    else if (undo !== "none" && undo !== "retry") this.#say("I1", `${what} begins an undo that is ${undo}`);
  }

  /** Steps of one group stand side by side, and act in any order. */
  #isBeside(due: number, index: number): boolean {
    const { plan } = this.#state;
    const group = plan[due]?.group;
    return group !== undefined && plan.slice(due, index + 1).every((step) => step.group?.name === group.name);
  }

  /** No more at once than the group allows, and none after one has failed. */
  #mayJoin(index: number, what: string): void {
    const group = this.#state.plan[index]?.group;
    if (!group) return;
    const beside = this.#acting((other) => this.#state.plan[other]?.group?.name === group.name);
    if (beside >= (group.limit ?? Infinity)) this.#say("S-24", `${what} begins one act too many at once`);
    if (this.#state.failure) this.#say("S-24", `${what} begins an act after another of its group has failed`);
  }

  #acting(isMeant: (index: number) => boolean): number {
    const { plan, steps } = this.#state;
    return steps.filter(({ act }, index) => act === "begun" && plan[index]?.group && isMeant(index)).length;
  }

  /** It may have happened, can be undone, and was not. */
  #isLeft({ name, undo, atomic, undoOnErr }: PlannedStep): boolean {
    const act = this.#key({ step: name, action: "act" });
    const begins = this.#begins.get(act)?.length ?? 0;
    const isSure = begins === 0 || (begins === 1 && (this.#refused.has(act) || this.#uncalled.has(act)));
    if (!undo || atomic || (isSure && !(undoOnErr && this.#refused.has(act)))) return false;
    return !this.#done.has(this.#key({ step: name, action: "compensate" }));
  }

  #mayEnd(entry: LogEntry, what: string): void {
    const key = this.#key(entry);
    const index = this.#state.plan.findIndex(({ name }) => name === entry.step);
    const step = this.#state.steps[index];
    const now = entry.action === "act" ? step?.act : step?.undo;
    const open = this.#state.plan[index]?.wait ? "waiting" : "begun";
    // A call that had outlived its time may still succeed.
    const isHeard = step?.runningSinceMs !== undefined || this.#hasJustReturned(entry);
    if (now !== open && !(isHeard && entry.status === "COMPLETED" && now !== "done"))
      this.#say("S-07", `${what} ends a call that is ${now ?? "unknown"}, not begun`);
    if (this.#done.has(key)) this.#say("I1", `${what} books an outcome that was booked before`);
    if (entry.status === "COMPLETED") this.#done.add(key);
    if (entry.status !== "FAILED") return;
    const { kind } = JSON.parse(entry.details ?? "{}") as Failure;
    if (kind === "err") this.#refused.add(key);
    if (kind === "open" && this.#begins.get(key)?.length === 1) this.#uncalled.add(key);
  }

  /** Its call was said to have returned in the line before. */
  #hasJustReturned({ step, id }: LogEntry): boolean {
    const before = this.#record.entries.find((one) => one.id === id - 1);
    const about = before?.step === "$return" ? (JSON.parse(before.details ?? "{}") as { step?: string }) : {};
    return about.step === step;
  }

  #begin(mark: Mark, token: number, version: number): void {
    const key = this.#key(mark);
    this.#begins.set(key, [...(this.#begins.get(key) ?? []), { token, version }]);
  }

  /** Whoever turns a saga back says that what has begun in a group was not called. The world shows if that is not so. */
  #withdraw({ plan, steps }: SagaState): void {
    for (const [index, { name, group }] of plan.entries()) {
      if (!group || steps[index]?.act !== "begun") continue;
      const key = this.#key({ step: name, action: "act" });
      const left = (this.#begins.get(key) ?? []).slice(0, -1);
      if (left.length > 0) this.#begins.set(key, left);
      else this.#begins.delete(key);
    }
  }

  #key({ step, action }: Mark): string {
    return idempotencyKey(this.#record.id, step, action);
  }

  /** Who has it, and how often its worker was lost. A claim of what was not given back is a recovery. */
  #ownership(entry: LogEntry, before: SagaState, following: LogEntry | undefined, what: string): void {
    if (entry.step === "$claim") {
      this.#claims++;
      if (this.#owned) this.#recoveries++;
      this.#owned = true;
      this.#unconfirmedRecovery = this.#recoveries > 0;
      this.#budget(following, what);
    } else if (entry.token === OPERATOR_TOKEN) {
      if (["$skip", "$resolve"].includes(entry.step)) this.#byHand = true;
      if (this.#owned && this.#state.status === before.status) return;
      this.#owned = false;
      this.#recoveries = 0;
    } else if (entry.step === "$release") this.#owned = false;
    else if (this.#beginsWait(entry) || this.#isMember(entry)) this.#mayRest(entry, following);
    else if (entry.status === "FAILED") this.#mayRelease(entry, following);
    else if (entry.status === "COMPLETED" && !entry.step.startsWith("$") && this.#unconfirmedRecovery) {
      this.#unconfirmedRecovery = false;
      this.#recoveries = 0;
    }
    if (TERMINAL.has(this.#state.status) || this.#state.status === "STALLED") this.#owned = false;
  }

  /** Of a group, any line may be the one after which only later tries are left: then it gives the saga back. */
  #isMember({ step, action, status }: LogEntry): boolean {
    const isEnd = action === "act" && status !== "STARTED";
    return isEnd && this.#state.plan.some(({ name, group }) => group && name === step);
  }

  #beginsWait({ step, status, next }: LogEntry): boolean {
    const begun = next?.step ?? (status === "STARTED" ? step : undefined);
    return this.#state.plan.some(({ name, wait }) => wait && name === begun);
  }

  /** A wait that begins gives the saga back, unless it is short or over already: what follows tells, or the row does. */
  #mayRest(entry: LogEntry, following: LogEntry | undefined): void {
    if (following === undefined) this.#owned = this.#record.owner !== undefined;
    else this.#owned = following.token === entry.token && following.step !== "$claim";
    // A claim that follows may be one of what was given back, or of what was lost.
    this.#unsure = true;
  }

  /** A long wait gives the saga back, unless the saga turns back at once: then there is nothing to wait for. */
  #mayRelease(entry: LogEntry, following: LogEntry | undefined): void {
    const { kind, waitMs = 0 } = JSON.parse(entry.details ?? "{}") as Failure;
    if (kind !== "retry" || waitMs <= SHORT_WAIT_MS || this.#state.cancel) return;
    // A saga whose calls have not all returned is not given back.
    if (this.#state.steps.some(({ runningSinceMs }) => runningSinceMs !== undefined)) return;
    if (following?.step === "$turn" && following.token === entry.token) return;
    this.#owned = false;
    // A deadline that had just passed looks the same here and keeps the owner.
    if (this.#record.deadlineAtMs !== undefined) this.#unsure = true;
  }

  /** The claim that exceeds the budget may do one thing only: stall the saga, before another call is made. */
  #budget(following: LogEntry | undefined, what: string): void {
    if (this.#recoveries <= this.#recoveryMax) return;
    if (this.#recoveries > this.#recoveryMax + 1)
      this.#say("I10", `${what} is recovery ${this.#recoveries} of at most ${this.#recoveryMax}`);
    else if (following && following.step !== "$stall" && following.step !== "$claim" && following.token > 0)
      this.#say("I10", `${what} used up the budget of recoveries, and yet the saga went on`);
  }
}
