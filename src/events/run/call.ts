/**
 * Calls a handler, which may hang, throw anything or return nonsense: whatever it does becomes an end, a wait, or (when
 * it was stopped from outside) nothing at all. No transaction is held meanwhile, unless the handler asked for one.
 */
import { delayMs } from "../../core/backoff.ts";
import { AmendsError, classify, errorLabel, waitAfter } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Lease } from "../../runtime/lease.ts";
import { Call } from "../../runtime/call.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import { tellThrow, type Throw } from "../../runtime/throws.ts";
import type { Delivery, RunRecord } from "./delivery.ts";
import { valueOf, type EventValue } from "../define/event.ts";
import {
  readAnswer,
  RUN_SAGA,
  type AnyHandler,
  type HandlerContext,
  type RunSaga,
} from "../define/handler.ts";
import type { HandlerEnd, Role } from "./orchestrator.ts";

/** The label of a step whose run had no time left. */
export const DEADLINE_PASSED = "DeadlinePassed";

/** It is tried again after this long. */
export interface Again {
  readonly end: "again";
  readonly waitMs: number;
  readonly error: string;
  /** Nothing went wrong: it only waits, and the claim does not count as a try. */
  readonly uncounted?: boolean;
}

/** What all calls have in common. */
export interface CallTools {
  readonly clock: Clock;
  readonly errorCodes: ReadonlySet<string>;
  readonly runSaga: RunSaga;
  /** How long a call whose time is over may still take to return; undefined where it is waited for in any case. */
  readonly graceMs: number | undefined;
}

/** A handler that is to be called, and what for. */
export interface Request {
  readonly handler: AnyHandler;
  readonly event: EventValue;
  readonly delivery: Delivery;
  /** The run that it belongs to, and what it is to it. */
  readonly run: RunRecord | undefined;
  readonly role: Role;
  readonly lease: Lease;
}

export interface Called {
  /** Undefined where it was stopped by a shutdown or a lost lease: that is not an outcome. */
  readonly end: HandlerEnd | Again | undefined;
  /** What was thrown, for whoever must tell trouble with the database from the handler's. Never stored. */
  readonly thrown?: unknown;
  /** The handler answered after its run's time was up: the run turns back, and what was done is undone. */
  readonly expired?: boolean;
  /** The handler has not returned: how it ends, whenever that is. */
  readonly late?: Promise<Called>;
}

/** The stored event as a value; undefined where it no longer fits what this process knows of it. */
export function readEvent({ on }: AnyHandler, delivery: Delivery): EventValue | undefined {
  const { eventId, name, version, payload, correlation, causation, timeMs } = delivery;
  try {
    const fields = on.read(payload, version) as object;
    const seal = { type: name, version, id: eventId, payload: payload ?? "{}", correlation };
    return valueOf(fields, seal, new Date(timeMs), correlation ?? eventId, causation);
  } catch {
    return undefined;
  }
}

/** Thrown from inside a handler of our own to wait without holding a place. */
export class Parked extends Error {
  readonly #waitMs: number;

  constructor(waitMs: number) {
    super("parked");
    this.#waitMs = waitMs;
  }

  /** Undefined for anything else. Asked in this way, a proxy is not asked at all: one that was revoked throws. */
  static waitOf(thrown: unknown): number | undefined {
    return typeof thrown === "object" && thrown !== null && #waitMs in thrown ? thrown.#waitMs : undefined;
  }
}

/** Calls it, in a transaction where it asked for one. */
export function callHandler(tools: CallTools, request: Request, tx: unknown): Promise<Called> {
  const { handler, run, role, lease } = request;
  const { clock, graceMs } = tools;
  const { timeoutMs } = handler;
  const dueAtMs = role.kind === "act" ? run?.dueAtMs : undefined;
  const deadlineMs = dueAtMs === undefined ? undefined : Math.max(0, dueAtMs - clock.monotonicMs());
  const call = Call.under(lease);
  const answered = answerOf(tools, request, tx, call);
  return call.within({ clock, graceMs, timeoutMs, deadlineMs }, answered, (late) => ({
    ...failed(tools, request, undefined, call.stopReason),
    late,
  }));
}

async function answerOf(tools: CallTools, request: Request, tx: unknown, call: Call): Promise<Called> {
  const { handler, event, run, role } = request;
  const extras: EventValue[] = [];
  const context = contextOf(tools, request, tx, call, extras);
  try {
    const { end, event: answer } = readAnswer(
      handler,
      await handler.handle(event as never, context as never),
    );
    if (role.kind === "act" && run) role.saga.checkProcess(answer, run.processId);
    const expired = call.stopReason === "deadline";
    return { end: { end, event: answer, extras }, thrown: undefined, ...(expired && { expired }) };
  } catch (thrown) {
    return failed(tools, request, thrown, call.stopReason);
  }
}

function failed(
  { errorCodes }: CallTools,
  { handler, delivery }: Request,
  thrown: unknown,
  reason: StopReason | undefined,
): Called {
  const end = endOf(handler, delivery, thrown, reason, errorCodes);
  if (end && Parked.waitOf(thrown) === undefined) tellThrow(() => throwOf(handler, delivery, thrown, end));
  return { end, thrown };
}

/** Everything is the object's own, so that code that wraps a handler can copy it. Few handlers read their signal. */
function contextOf(
  { runSaga }: CallTools,
  { delivery, handler }: Request,
  tx: unknown,
  call: Call,
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

function throwOf({ name }: AnyHandler, delivery: Delivery, error: unknown, end: HandlerEnd | Again): Throw {
  const { id, attempts: attempt } = delivery;
  return {
    part: "handler",
    name,
    id,
    attempt,
    error,
    waitMs: end.end === "again" ? end.waitMs : undefined,
  };
}

function checkedEvent(event: EventValue): EventValue {
  if (sealOf(event)) return event;
  throw new AmendsError("BAD_INPUT", "`outbox.append` takes events, made by `event(…)`.");
}

function endOf(
  { retry }: AnyHandler,
  { attempts }: Delivery,
  thrown: unknown,
  reason: StopReason | undefined,
  errorCodes: ReadonlySet<string>,
): HandlerEnd | Again | undefined {
  const parkedMs = Parked.waitOf(thrown);
  if (parkedMs !== undefined) return { end: "again", waitMs: parkedMs, error: "Waiting", uncounted: true };
  if (reason === "deadline") return { end: "exhausted", error: DEADLINE_PASSED };
  if (reason === "lost" || reason === "shutdown") return undefined;
  const error = reason === "timeout" ? "TimedOut" : errorLabel(thrown, errorCodes);
  const isOver = reason !== "timeout" && classify(thrown) === "permanent";
  if (isOver || attempts >= retry.attemptMax) return { end: "exhausted", error };
  return { end: "again", waitMs: waitAfter(thrown, delayMs(retry, Math.max(attempts, 1))), error };
}
