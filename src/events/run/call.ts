/**
 * Calls a handler. A hang, any thrown value and an invalid return value each become a result; a call that was
 * stopped from outside has none. No transaction is open during the call, unless the handler asked for one.
 */
import { delayMs } from "../../core/backoff.ts";
import { AmendsError, classify, errorLabel, errorMessage, waitAfter } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Lease } from "../../runtime/lease.ts";
import type { PartContext } from "../../runtime/part.ts";
import { Call, intercepted } from "../../runtime/call.ts";
import type { Stoppable, StopReason } from "../../runtime/stoppable.ts";
import { reportFailedTry, type FailedTry } from "../../runtime/failed-tries.ts";
import type { Delivery, RunRecord } from "./outcome.ts";
import { valueOf, type EventValue } from "../define/event.ts";
import { RUN_SAGA, type HandlerContext, type RunSaga } from "../define/handler.ts";
import { takesOf } from "../define/several.ts";
import { readResult, type Subscriber } from "../define/subscriber.ts";
import type { Role } from "./decider.ts";
import { DEADLINE_PASSED, type ExhaustedResult, type HandlerResult, type RetryResult } from "./result.ts";

/** What all calls have in common. */
export interface CallTools {
  readonly clock: Clock;
  readonly errorCodes: ReadonlySet<string>;
  readonly keepMessages: boolean;
  readonly runSaga: RunSaga;
  /** Logs a failed try with its label. */
  readonly warn: PartContext["warn"];
  /** How long a call may take to return after its timeout. Undefined: no limit. */
  readonly graceMs: number | undefined;
}

/** A handler that is to be called, and the delivery that it is called for. */
export interface Request {
  readonly handler: Subscriber;
  /** The event; a list of all for a handler that takes several. */
  readonly event: EventValue | readonly EventValue[];
  readonly delivery: Delivery;
  readonly run: RunRecord | undefined;
  /** The role of the delivery in its run. */
  readonly role: Role;
  readonly lease: Lease;
}

export interface Called {
  /** Undefined if a shutdown or a lost lease stopped the call: that is no outcome. */
  readonly result: HandlerResult | undefined;
  /** The thrown value, to distinguish database errors from errors of the handler. Never stored. */
  readonly thrown?: unknown;
  /** The handler answered after its run's deadline: the run compensates. */
  readonly expired?: boolean;
  /** Set if the handler has not returned: resolves when it does. */
  readonly late?: Promise<Called>;
}

/** The part of a delivery that its event is made of. */
type EventRow = Pick<
  Delivery,
  "eventId" | "name" | "version" | "payload" | "correlation" | "causation" | "timeMs"
>;

/** Whether another process published a version of the event that this one does not know. */
export function isNewer(handler: Subscriber, { name, version }: Pick<EventRow, "name" | "version">): boolean {
  return takesOf(handler).some((event) => event.type === name && event.version < version);
}

/** The stored event as a value; undefined if it no longer fits the schema that this process has for it. */
export function readEvent(handler: Subscriber, delivery: EventRow): EventValue | undefined {
  const { eventId, name, version, payload, correlation, causation, timeMs } = delivery;
  try {
    const type = takesOf(handler).find((one) => one.type === name);
    if (!type) return undefined;
    const fields = type.read(payload ?? null, version) as object;
    const seal = {
      type: name,
      version,
      id: eventId,
      hasGivenId: true,
      payload: payload ?? "{}",
      correlation,
    };
    return valueOf(fields, seal, new Date(timeMs), correlation ?? eventId, causation);
  } catch {
    return undefined;
  }
}

/** An internal handler throws this to be called again later without holding a slot. */
export class WaitLonger extends Error {
  readonly #waitMs: number;

  constructor(waitMs: number) {
    super("wait longer");
    this.#waitMs = waitMs;
  }

  /** Undefined for anything else. The check does not touch proxies: a revoked proxy would throw. */
  static waitOf(thrown: unknown): number | undefined {
    return typeof thrown === "object" && thrown !== null && #waitMs in thrown ? thrown.#waitMs : undefined;
  }
}

/** Calls the handler, with `tx` if it asked for a transaction. */
export function callHandler(tools: CallTools, request: Request, tx: unknown): Promise<Called> {
  const { handler, run, role, lease } = request;
  const { clock, graceMs } = tools;
  const { timeoutMs } = handler;
  const dueAtMs = role.kind === "act" ? run?.dueAtMs : undefined;
  const deadlineMs = dueAtMs === undefined ? undefined : Math.max(0, dueAtMs - clock.monotonicMs());
  const call = Call.under<Called>(lease);
  const answered = answerOf(tools, request, tx, call);
  return call.within({ clock, graceMs, timeoutMs, deadlineMs }, answered, (late) => ({
    ...failed(tools, request, undefined, call.stopReason),
    late,
  }));
}

async function answerOf(tools: CallTools, request: Request, tx: unknown, call: Stoppable): Promise<Called> {
  const { handler, event, run, role } = request;
  const extras: EventValue[] = [];
  const context = contextOf(tools, request, tx, call, extras);
  try {
    const returned: unknown = await intercepted(
      () => ({ part: "handler", name: handler.name, attempt: context.attempt, key: context.key }),
      () => handler.handle(event as never, context as never),
    );
    const { kind, event: answer } = readResult(
      handler,
      returned,
      role.kind === "act" ? role.step : undefined,
    );
    if (role.kind === "act" && run && answer) role.saga.checkProcess(answer, run.processId);
    const result = { kind, event: answer, extras };
    return call.stopReason === "deadline" ? { result, expired: true } : { result };
  } catch (thrown) {
    return failed(tools, request, thrown, call.stopReason);
  }
}

function failed(
  tools: CallTools,
  { handler, delivery }: Request,
  thrown: unknown,
  reason: StopReason | undefined,
): Called {
  const result = failureOf(handler, delivery, thrown, reason, tools);
  if (result && WaitLonger.waitOf(thrown) === undefined && "error" in result)
    reportFailedTry(tools.warn, failedTry(handler, delivery, thrown, result));
  return { result, thrown };
}

/** All properties are own properties, so that wrappers can copy the object. The signal is created lazily. */
function contextOf(
  { runSaga }: CallTools,
  { delivery, handler }: Request,
  tx: unknown,
  call: Stoppable,
  extras: EventValue[],
): HandlerContext<unknown> & { readonly [RUN_SAGA]: RunSaga } {
  return {
    tx,
    outbox: { append: (...events) => void extras.push(...events.map(checkedEvent)) },
    key: `${delivery.eventId}:${handler.name}`,
    attempt: delivery.attempts,
    get signal() {
      return call.signal;
    },
    [RUN_SAGA]: runSaga,
  };
}

function failedTry(
  { name }: Subscriber,
  delivery: Delivery,
  error: unknown,
  result: RetryResult | ExhaustedResult,
): FailedTry {
  const { id, attempts: attempt } = delivery;
  return {
    part: "handler",
    name,
    id,
    attempt,
    error,
    label: result.error,
    waitMs: result.kind === "retry" ? result.waitMs : undefined,
  };
}

function checkedEvent(event: EventValue): EventValue {
  if (sealOf(event)) return event;
  throw new AmendsError("BAD_INPUT", "`outbox.append` takes events, made by `event(…)`.");
}

function failureOf(
  handler: Subscriber,
  { attempts }: Delivery,
  thrown: unknown,
  reason: StopReason | undefined,
  { errorCodes, keepMessages }: CallTools,
): HandlerResult | undefined {
  const waitMs = WaitLonger.waitOf(thrown);
  if (waitMs !== undefined) return { kind: "retry", waitMs, error: "Waiting", uncounted: true };
  if (reason === "deadline") return { kind: "exhausted", error: DEADLINE_PASSED };
  if (reason === "lost" || reason === "shutdown") return undefined;
  if (reason === "timeout") return retryOrEnd(handler, attempts, undefined, "TimedOut");
  const message = keepMessages ? errorMessage(thrown) : undefined;
  return { ...retryOrEnd(handler, attempts, thrown, errorLabel(thrown, errorCodes)), message };
}

/** Another attempt, if one is left and the error is not permanent. */
export function retryOrEnd(
  { retry }: Subscriber,
  attempts: number,
  thrown: unknown,
  error: string,
): RetryResult | ExhaustedResult {
  if (classify(thrown) === "permanent" || attempts >= retry.attemptMax) return { kind: "exhausted", error };
  return { kind: "retry", waitMs: waitAfter(thrown, delayMs(retry, Math.max(attempts, 1))), error };
}
