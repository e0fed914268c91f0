/**
 * Calls the user's code, which may hang, throw anything or return nonsense: whatever it does becomes an outcome. No
 * transaction, lock or connection is held meanwhile, except for a step that asked for a transaction.
 */
import { AmendsError, classify, errorLabel, errorMessage } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import { checkName, idempotencyKey } from "../../core/identity.ts";
import { encodeJson } from "../../core/json.ts";
import { isErr, isOk } from "../../core/result.ts";
import type { Failure } from "../../core/saga/entry.ts";
import { pivotBegun, type Command, type Outcome } from "../../core/saga/interpreter.ts";
import type { StepState } from "../../core/saga/state.ts";
import { Call, type CallLimits } from "../../runtime/call.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import type { Clock } from "../../storage/clock.ts";
import type { EmittedEvent } from "../define/definition.ts";
import type { Emission } from "../journal/journal.ts";
import type { Run } from "./run.ts";
import type { StepDefinition } from "../define/settings.ts";

/** A call of a step, as middleware sees it. */
export interface StepCall {
  /** The id of the saga. */
  readonly sagaId: string;
  /** The name of the saga. */
  readonly saga: string;
  /** The name of the step. */
  readonly step: string;
  /** Whether the step's act or its compensation is called. */
  readonly action: "act" | "compensate";
  /** The number of the attempt; 1 for the first. */
  readonly attempt: number;
  /** The idempotency key of the call. */
  readonly key: string;
}

/** Wraps every act and every compensation, in recovery too. Return what `next` returns. */
export type Middleware = (call: StepCall, next: () => Promise<unknown>) => Promise<unknown>;

export interface CallTools {
  /** Undefined for a storage of the user's own, which has no outbox. */
  readonly database: object | undefined;
  readonly clock: Clock;
  readonly middleware: readonly Middleware[];
  readonly errorCodes: ReadonlySet<string>;
  /** Whether messages are kept if a saga does not say. */
  readonly keepMessages: boolean;
  /** How long a call whose time is over may still take to return; undefined where it is waited for in any case. */
  readonly graceMs: number | undefined;
  newId(): string;
}

export type CallCommand = Extract<Command, { kind: "act" | "undo" }>;

/** For whom a call is made: a saga, or one of several steps of it that act at once. */
export type Caller = Pick<
  Run,
  | "id"
  | "definition"
  | "input"
  | "results"
  | "state"
  | "deadlineAtMs"
  | "stepBegunAtMs"
  | "stopReason"
  | "call"
  | "step"
>;

export interface Called {
  readonly outcome: Outcome;
  readonly emissions: readonly Emission[];
  /** What was thrown, for whoever must tell trouble with the database from trouble with the step. Never stored. */
  readonly thrown?: unknown;
  /** The act succeeded after its deadline: the result is kept, and the saga turns back. */
  readonly expired?: boolean;
  /** The call has not returned: its answer, whenever it comes. */
  readonly late?: Promise<Called | undefined>;
}

/**
 * Undefined where the call was interrupted by a shutdown or a lost lease: that is not an outcome. A call that returns
 * at once is answered at once.
 */
export function callStep(
  tools: CallTools,
  run: Caller,
  command: CallCommand,
  tx: unknown,
): Called | undefined | Promise<Called | undefined> {
  const step = run.step(command.step);
  const isAct = command.kind === "act";
  const context = new CallContext(tools, run, command, tx, step.fallback !== undefined);
  run.call = context;
  const user = (isAct ? step.act : step.compensate) as (context: unknown) => unknown;
  const isLimited =
    step.timeoutMs !== undefined || step.deadlineMs !== undefined || run.deadlineAtMs !== undefined;
  const begunAtMs = isLimited ? tools.clock.monotonicMs() : 0;
  let value: unknown;
  try {
    value =
      tools.middleware.length === 0
        ? user(context)
        : withMiddleware(tools.middleware, run, command, context, () => user(context));
  } catch (thrown) {
    return CallContext.threw(context, thrown);
  }
  if (!isThenable(value)) return CallContext.returned(context, value);
  const answered = Promise.resolve(value).then(
    (result) => CallContext.returned(context, result),
    (thrown) => CallContext.threw(context, thrown),
  );
  if (!isLimited) return answered;
  const limits = limitsOf(tools, begunAtMs, run, step, isAct);
  return CallContext.callOf(context).within(limits, answered, (late) =>
    CallContext.overdue(context, begunAtMs, late),
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}

/** For people: ownership and due times never depend on it. */
function nowMs(clock: Clock): number {
  return clock.virtualNowMs?.() ?? Date.now();
}

const NOTHING: readonly Emission[] = [];

/**
 * What a step's code gets. Most of it is made only when it is looked at: most steps look at little. What the engine asks
 * of a call stands beside it as functions, so that none of it is among what users see.
 */
export class CallContext {
  readonly input: unknown;
  readonly results: Readonly<Record<string, unknown>>;
  readonly attempt: number;
  readonly tx: unknown;
  readonly #tools: CallTools;
  readonly #run: Caller;
  readonly #command: CallCommand;
  #emissions: readonly Emission[] = NOTHING;
  #call: Call | undefined;

  /** `apart`: whatever it does to what it is given, the step that takes its place sees nothing of it. */
  constructor(tools: CallTools, run: Caller, command: CallCommand, tx: unknown, apart: boolean) {
    this.#tools = tools;
    this.#run = run;
    this.#command = command;
    this.input = apart ? structuredClone(run.input) : run.input;
    this.results = apart ? structuredClone(run.results) : run.results;
    this.attempt = command.attempt;
    this.tx = tx;
    if (run.stopReason !== undefined) this.#call = new Call(run.stopReason);
  }

  get sagaId(): string {
    return this.#run.id;
  }

  get action(): "act" | "compensate" {
    return this.#command.kind === "act" ? "act" : "compensate";
  }

  get key(): string {
    return idempotencyKey(this.#run.id, this.#command.step, this.action);
  }

  get actKey(): string {
    return idempotencyKey(this.#run.id, this.#command.step, "act");
  }

  get signal(): AbortSignal {
    return CallContext.callOf(this).signal;
  }

  get result(): unknown {
    return (this.#run.state.steps[this.#command.index] as StepState).result;
  }

  get emit(): (event: EmittedEvent) => void {
    return (event) => {
      if (!this.#tools.database) {
        throw new AmendsError(
          "NOT_SUPPORTED",
          "A storage of your own cannot keep the events that a step emits.",
        );
      }
      this.#emissions = [...this.#emissions, emissionOf(event, () => this.#tools.newId())];
    };
  }

  /** Made only if it is needed: most calls are neither limited nor stopped, and never read their signal. */
  static callOf(context: CallContext): Call {
    context.#call ??= new Call();
    return context.#call;
  }

  static returned(call: CallContext, value: unknown): Called {
    const { step, kind } = call.#command;
    const outcome = outcomeOf(value, kind === "act", step);
    const emissions = call.#emissions;
    const isExpired = outcome.kind === "ok" && call.#call?.stopReason === "deadline";
    return isExpired ? { outcome, emissions, expired: true } : { outcome, emissions };
  }

  static threw(call: CallContext, thrown: unknown): Called | undefined {
    const failed = failureOf(call.#tools, call.#run, call.#call?.stopReason, thrown);
    return failed && { outcome: failed, emissions: NOTHING, thrown };
  }

  static overdue(
    call: CallContext,
    begunAtMs: number,
    late: Promise<Called | undefined>,
  ): Called | undefined {
    const { clock } = call.#tools;
    const failed = failureOf(call.#tools, call.#run, call.#call?.stopReason, undefined);
    if (failed?.kind !== "failed") return undefined;
    const runningSinceMs = Math.round(nowMs(clock) - (clock.monotonicMs() - begunAtMs));
    const outcome = { ...failed, failure: { ...failed.failure, runningSinceMs } };
    return { outcome, emissions: NOTHING, late };
  }
}

export function stopCall(call: CallContext, reason: StopReason): void {
  CallContext.callOf(call).stop(reason);
}

/** An event that `event(…)` made has an id and a version of its own. */
function emissionOf(event: EmittedEvent, newId: () => string): Emission {
  const seal = sealOf(event);
  if (seal) return { entryId: seal.id, type: seal.type, payload: seal.payload, version: seal.version };
  const type = checkName(event.type, "An event's type");
  const payload = encodeJson(event.data, { field: `The data of event ${type}` });
  return { entryId: newId(), type, payload, version: 1 };
}

function withMiddleware(
  middleware: readonly Middleware[],
  run: Caller,
  { step, attempt }: CallCommand,
  { sagaId, key, action }: CallContext,
  call: () => unknown,
): unknown {
  const info: StepCall = { sagaId, saga: run.definition.name, step, action, attempt, key };
  const chain = middleware.reduceRight<() => Promise<unknown>>(
    (next, wrap) => () => wrap(info, next),
    async () => call(),
  );
  return chain();
}

/** When a call has no time left: that of its try, its step or its saga. */
function limitsOf(
  { clock, graceMs }: CallTools,
  now: number,
  run: Caller,
  { timeoutMs, deadlineMs }: StepDefinition,
  isAct: boolean,
): CallLimits {
  if (!isAct) return { clock, graceMs, timeoutMs };
  const stepMs = deadlineMs === undefined ? Infinity : run.stepBegunAtMs + deadlineMs - now;
  const isBound = run.state.status === "RUNNING" && !pivotBegun(run.state);
  const sagaMs = run.deadlineAtMs === undefined || !isBound ? Infinity : run.deadlineAtMs - now;
  const leftMs = Math.min(stepMs, sagaMs);
  return { clock, graceMs, timeoutMs, deadlineMs: leftMs === Infinity ? undefined : leftMs };
}

function outcomeOf(returned: unknown, isAct: boolean, step: string): Outcome {
  try {
    if (isErr(returned)) {
      const error = encodeJson(returned.error, { field: `The error of step ${step}`, allowNul: true });
      const value = error === null ? undefined : (JSON.parse(error) as unknown);
      const label = errLabel(value);
      return { kind: "failed", transient: false, failure: { kind: "err", label, error: value } };
    }
    const value = isOk(returned) ? returned.value : returned;
    // What an undo returns is nobody's input: it is not kept.
    const details = isAct ? encodeJson(value, { field: `The result of step ${step}`, allowNul: true }) : null;
    return { kind: "ok", details };
  } catch {
    return { kind: "failed", transient: false, failure: { kind: "unfit", label: "ResultNotJson" } };
  }
}

/** An err that is a code, or has one, is known by it. */
function errLabel(value: unknown): string {
  const code = typeof value === "object" && value !== null ? (value as { code?: unknown }).code : value;
  return typeof code === "string" && /^[A-Za-z][\w.-]{0,254}$/.test(code) ? code : "Err";
}

function failureOf(
  tools: CallTools,
  run: Caller,
  stopReason: StopReason | undefined,
  thrown: unknown,
): Outcome | undefined {
  switch (stopReason) {
    case "shutdown":
    case "lost":
      return undefined;
    case "deadline":
      return { kind: "failed", transient: false, failure: { kind: "deadline", label: "DeadlinePassed" } };
    case "timeout":
      return { kind: "failed", transient: true, failure: { kind: "retry", label: "TimedOut" } };
    default: {
      const permanent = classify(thrown) === "permanent";
      const isKept = run.definition.settings.keepMessages ?? tools.keepMessages;
      const message = isKept ? errorMessage(thrown) : undefined;
      const failure: Failure = {
        kind: permanent ? "terminal" : "retry",
        label: errorLabel(thrown, tools.errorCodes),
        ...(message !== undefined && { message }),
      };
      return { kind: "failed", transient: !permanent, failure };
    }
  }
}
