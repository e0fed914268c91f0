/**
 * Calls a step's own code, which may hang, throw anything or return nonsense: whatever it does becomes an outcome. No
 * transaction, lock or connection is held meanwhile, except for a step that asked for a transaction.
 */
import { askedWait, classify, errorLabel, errorMessage } from "../../core/errors.ts";
import { encodeJson } from "../../core/json.ts";
import { isErr, isOk } from "../../core/result.ts";
import type { Failure } from "../../core/saga/entry.ts";
import { pivotBegun, type CallCommand, type Outcome } from "../../core/saga/interpreter.ts";
import { currentInterceptor, type CallLimits, type InterceptedCall } from "../../runtime/call.ts";
import type { PartContext } from "../../runtime/part.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import { wallMs, type Clock } from "../../storage/clock.ts";
import type { EncodedCall } from "../../outbox/calls/definition.ts";
import { OwnOutcome } from "../define/own-outcome.ts";
import type { StepDefinition } from "../define/settings.ts";
import type { CallResult, Lines } from "../driver/saga-host.ts";
import type { Emission, Journal } from "../journal/journal.ts";
import { resultsOf, stallReason } from "../view/outcome.ts";
import { CallContext, NO_EMISSIONS } from "./call-context.ts";
import type { Run } from "../driver/run.ts";

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
  readonly journal: Pick<Journal, "keepsEvents">;
  readonly clock: Clock;
  readonly middleware: readonly Middleware[];
  readonly errorCodes: ReadonlySet<string>;
  /** Whether messages are kept if a saga does not say. */
  readonly keepMessages: boolean;
  /** Logs for operators: ids, names and labels. Default: nothing is logged. */
  readonly warn?: PartContext["warn"];
  /** How long a call whose time is over may still take to return. Undefined: it is waited for in any case. */
  readonly graceMs: number | undefined;
  newId(): string;
}

/** A call that is to be made. */
export interface CallRequest {
  readonly run: Run;
  readonly command: CallCommand;
  readonly step: StepDefinition;
  /** What the steps before it returned. */
  readonly results: Readonly<Record<string, unknown>>;
  /** What its saga was told before the call. */
  readonly stopReason: StopReason | undefined;
  readonly tx: unknown;
  /** It has ended, or its driver goes on without it. */
  readonly isOver: boolean;
  /** What is called instead of the step's own code. */
  readonly code?: ((context: CallContext) => unknown) | undefined;
  /** Set when the call is made: by it the call can be stopped. */
  context: CallContext | undefined;
}

export interface Called extends CallResult {
  /** The call has outlived its time and has not returned: its answer, whenever it comes. */
  readonly late?: Promise<Called | undefined>;
}

/**
 * Makes the call. Undefined where a shutdown or a lost lease interrupted it: that is no outcome. One that returns at once is
 * answered at once.
 */
export function callStep(
  tools: CallTools,
  request: CallRequest,
): Called | undefined | Promise<Called | undefined> {
  const { run, command, step } = request;
  const context = new CallContext(tools, request);
  request.context = context;
  const user = request.code ?? codeOf(step, command);
  const isLimited =
    step.timeoutMs !== undefined || step.deadlineMs !== undefined || run.deadlineAtMs !== undefined;
  const begunAtMs = isLimited ? tools.clock.monotonicMs() : 0;
  let value: unknown;
  try {
    const interceptor = currentInterceptor();
    value = interceptor
      ? interceptor(describe(command, context), async () => make(tools, request, context, user))
      : make(tools, request, context, user);
  } catch (thrown) {
    return failedOf(tools, run, context, thrown);
  }
  if (!isThenable(value)) return calledOf(tools, context, command, value);
  const answered = Promise.resolve(value).then(
    (result) => calledOf(tools, context, command, result),
    (thrown) => failedOf(tools, run, context, thrown),
  );
  if (!isLimited) return answered;
  const limits = limitsOf(tools, begunAtMs, request);
  const overdue = (late: Promise<Called | undefined>): Called | undefined =>
    overdueOf(tools, run, context, begunAtMs, late);
  return CallContext.callOf(context).within(limits, answered, overdue);
}

function describe({ kind, step: name }: CallCommand, { attempt, key }: CallContext): InterceptedCall {
  return { part: kind === "act" ? "step" : "undo", name, attempt, key };
}

function make(
  { middleware }: CallTools,
  request: CallRequest,
  context: CallContext,
  user: (context: CallContext) => unknown,
): unknown {
  return middleware.length === 0
    ? user(context)
    : withMiddleware(middleware, request, context, () => user(context));
}

/** The function of the application that the command calls. */
function codeOf(step: StepDefinition, { kind, item }: CallCommand): (context: unknown) => unknown {
  const act = step.list !== undefined && item === undefined ? step.list : step.act;
  return (kind === "act" ? act : step.compensate) as (context: unknown) => unknown;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}

function calledOf(
  tools: CallTools,
  context: CallContext,
  { step, kind }: CallCommand,
  value: unknown,
): Called {
  const outcome = outcomeOf(value, kind === "act", step);
  const emitted = CallContext.emissionsOf(context);
  const emissions = value instanceof OwnOutcome ? [...emitted, ...value.calls.map(callOf(tools))] : emitted;
  const isExpired = outcome.kind === "ok" && CallContext.stopReasonOf(context) === "deadline";
  return isExpired ? { outcome, emissions, expired: true } : { outcome, emissions };
}

/** A call that goes into the outbox with the line of the outcome. */
export function callOf(tools: Pick<CallTools, "newId">): (call: EncodedCall) => Emission {
  return ({ name, payload, limits }) => ({
    entryId: tools.newId(),
    type: name,
    payload,
    version: 1,
    isCall: true,
    limits,
  });
}

/** With the call that follows a stall, if the saga stalls by these lines. */
export function withStallCall(tools: CallTools, run: Run, { emissions, state }: Lines): Lines["emissions"] {
  const { stalled } = run.definition;
  if (!stalled || state.status !== "STALLED" || run.state.status === "STALLED") return emissions;
  const { keyId: sagaId, input } = run;
  const reason = stallReason(state);
  const context = { sagaId, input, results: resultsOf(state), reason, step: state.stall?.step };
  try {
    return [...emissions, callOf(tools)(stalled(context))];
  } catch (error) {
    tools.warn?.(
      { id: run.id, error: errorLabel(error) },
      "amends: onStalled of a saga failed; its call was not made",
    );
    return emissions;
  }
}

function failedOf(tools: CallTools, run: Run, context: CallContext, thrown: unknown): Called | undefined {
  const outcome = failureOf(tools, run, CallContext.stopReasonOf(context), thrown);
  return outcome && { outcome, emissions: NO_EMISSIONS, thrown };
}

function overdueOf(
  tools: CallTools,
  run: Run,
  context: CallContext,
  begunAtMs: number,
  late: Promise<Called | undefined>,
): Called | undefined {
  const { clock } = tools;
  const failed = failureOf(tools, run, CallContext.stopReasonOf(context), undefined);
  if (failed?.kind !== "failed") return undefined;
  const runningSinceMs = Math.round(wallMs(clock) - (clock.monotonicMs() - begunAtMs));
  const outcome = { ...failed, failure: { ...failed.failure, runningSinceMs } };
  return { outcome, emissions: NO_EMISSIONS, late };
}

function withMiddleware(
  middleware: readonly Middleware[],
  { run, command }: CallRequest,
  { sagaId, key, action }: CallContext,
  call: () => unknown,
): unknown {
  const { step, attempt } = command;
  const info: StepCall = { sagaId, saga: run.definition.name, step, action, attempt, key };
  const chain = middleware.reduceRight<() => Promise<unknown>>(
    (next, wrap) => () => wrap(info, next),
    async () => call(),
  );
  return chain();
}

/** How long a call may take: its try, its step, its saga. */
function limitsOf(
  { clock, graceMs }: CallTools,
  now: number,
  { run, command, step }: CallRequest,
): CallLimits {
  const { timeoutMs, deadlineMs } = step;
  if (command.kind !== "act") return { clock, graceMs, timeoutMs };
  const begunAtMs = run.begunAtMs(command.step) ?? now;
  const stepMs = deadlineMs === undefined ? Infinity : begunAtMs + deadlineMs - now;
  const isBound = run.state.status === "RUNNING" && !pivotBegun(run.state);
  const sagaMs = run.deadlineAtMs === undefined || !isBound ? Infinity : run.deadlineAtMs - now;
  const leftMs = Math.min(stepMs, sagaMs);
  return { clock, graceMs, timeoutMs, deadlineMs: leftMs === Infinity ? undefined : leftMs };
}

function outcomeOf(returned: unknown, isAct: boolean, step: string): Outcome {
  if (returned instanceof OwnOutcome) return returned.outcome;
  try {
    if (isErr(returned)) {
      const error = encodeJson(returned.error, { field: `The error of step ${step}`, allowNul: true });
      const value = error === null ? undefined : (JSON.parse(error) as unknown);
      const label = errLabel(value);
      return { kind: "failed", transient: false, failure: { kind: "err", label, error: value } };
    }
    const value = isOk(returned) ? returned.value : returned;
    // What an undo returns is not kept: no step reads it.
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
  run: Run,
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
      return { kind: "failed", transient: !permanent, failure, askedMs: askedWait(thrown) };
    }
  }
}
