/**
 * A handler takes one event and answers with one of two: its success event in `ok`, or its failure event in `err`.
 * A handler does not depend on sagas; the registration of a saga makes it a step.
 */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import { checkName } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import { isErr, isOk, type Err, type Ok } from "../../core/result.ts";
import { ACT_RETRY, readRetry, type RetryOptions, type RetryPolicy } from "../../core/backoff.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { TransactionKind } from "../../sagas/define/transaction-kind.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import type { AnyEvent, EventValue, ValueOf } from "./event.ts";
import {
  givesOf,
  isEventType,
  readGives,
  readTakes,
  type AnyAnswer,
  type AnyOn,
  type GivenOf,
  type GivesOf,
  type TakenOf,
} from "./several.ts";
import { SagaContractViolation } from "./violation.ts";

/** Where a handler puts further events besides the one that it returns. */
export interface HandlerOutbox {
  /** Publishes the events in the commit that records the handler's outcome, or not at all. */
  append(...events: readonly EventValue[]): void;
}

/** What a handler receives besides the event. */
export interface HandlerContext<Tx = undefined> {
  /** The open transaction of a handler with the option `transaction`; otherwise undefined. */
  readonly tx: Tx;
  /** For further events, such as audit entries and notifications. */
  readonly outbox: HandlerOutbox;
  /**
   * The idempotency key: the same over retries and restarts, distinct per event and handler. Pass it on to the systems
   * that you call.
   */
  readonly key: string;
  /** The number of the attempt; 1 for the first. */
  readonly attempt: number;
  /** Aborts on a timeout, on a lost claim and on shutdown. */
  readonly signal: AbortSignal;
}

/** For internal handlers: runs a saga of steps to its end, or frees the slot until later. */
export const RUN_SAGA: unique symbol = Symbol.for("amends.run-saga") as never;

export type RunSaga = (saga: AnySaga, input: unknown, id: string) => Promise<SagaOutcome>;

/** What a handler returns: `ok` with its success event, or `err` with its failure event. */
export type Answer<Success extends AnyAnswer, Failure extends AnyEvent> =
  | Ok<GivenOf<GivesOf<Success>>>
  | Err<ValueOf<Failure>>;

/** The options of `handler`. */
export interface HandlerOptions<
  On extends AnyOn,
  Success extends AnyAnswer,
  Failure extends AnyEvent,
  Tx = undefined,
> {
  /** The type of event that it handles, or all of several: `all(Paid, Packed)`. */
  readonly on: On;
  /** The type of event that it returns in `ok(…)` on success, or one of several: `oneOf(Approved, Declined)`. */
  readonly ok: Success;
  /**
   * The type of event that it returns in `err(…)` on a business failure. The writes of its transaction are rolled back.
   */
  readonly err: Failure;
  /**
   * Handles one event and returns `ok` or `err` with the event that follows. A thrown error is retried; `Terminal` is
   * not.
   */
  handle(
    event: TakenOf<On>,
    context: HandlerContext<Tx>,
  ): Answer<Success, Failure> | Promise<Answer<Success, Failure>>;
  /**
   * The number of attempts of a handler that throws, and the waits between them. Default: 8 attempts, from 1s up to 1h.
   */
  readonly retry?: RetryOptions;
  /** The timeout of one attempt: then its signal aborts, and the attempt counts as failed. Default: none. */
  readonly timeout?: Duration;
  /**
   * Runs the handler in a transaction that commits together with its outcome, exactly once. Default: no transaction.
   */
  readonly transaction?: TransactionKind<Tx>;
}

/** A handler, made by `handler(…)` or `sagaHandler(…)`. */
export interface Handler<
  On extends AnyOn = AnyEvent,
  Success extends AnyAnswer = AnyEvent,
  Failure extends AnyEvent = AnyEvent,
> {
  /** The name under which its deliveries are stored. */
  readonly name: string;
  /** The type of event that it handles. */
  readonly on: On;
  /** The type of event that it returns on success. */
  readonly ok: Success;
  /** The type of event that it returns on a business failure. */
  readonly err: Failure;
  /** The checked retry schedule. */
  readonly retry: RetryPolicy;
  /** The timeout of one attempt in milliseconds; undefined for none. */
  readonly timeoutMs: number | undefined;
  /** The kind of transaction that it runs in; undefined for none. */
  readonly transaction: TransactionKind<unknown> | undefined;
  /** The function that handles an event. The worker calls it. */
  handle(event: never, context: never): unknown;
}

/** Any handler, whatever its events. */
export type AnyHandler = Handler<AnyOn, AnyAnswer>;

const OPTIONS = ["on", "ok", "err", "handle", "retry", "timeout", "transaction"];

/** The options of an `EventHandler`: those of `handler(…)` without the function. */
export type EventHandlerOptions<
  On extends AnyOn,
  Success extends AnyAnswer,
  Failure extends AnyEvent,
  Tx = undefined,
> = Omit<HandlerOptions<On, Success, Failure, Tx>, "handle">;

/**
 * A handler as a class, for one that gets its services in its constructor. `handler(…)` makes one from a function.
 * Deliveries are stored under its name: do not rename it while some are open.
 */
export abstract class EventHandler<
  On extends AnyOn = AnyEvent,
  Success extends AnyAnswer = AnyEvent,
  Failure extends AnyEvent = AnyEvent,
  Tx = undefined,
> implements Handler<On, Success, Failure> {
  /** The name under which its deliveries are stored. */
  readonly name: string;
  /** The type of event that it handles. */
  readonly on: On;
  /** The type of event that it returns on success. */
  readonly ok: Success;
  /** The type of event that it returns on a business failure. */
  readonly err: Failure;
  /** The checked retry schedule. */
  readonly retry: RetryPolicy;
  /** The timeout of one attempt in milliseconds; undefined for none. */
  readonly timeoutMs: number | undefined;
  /** The kind of transaction that it runs in; undefined for none. */
  readonly transaction: TransactionKind<unknown> | undefined;

  /** Throws `BAD_DEFINITION` if the definition is not valid. */
  constructor(name: string, options: EventHandlerOptions<On, Success, Failure, Tx>) {
    this.name = checkName(name, "A handler's name");
    const where = `Handler ${name}`;
    refuseUnknown(options, OPTIONS, where);
    const { on, ok, err, retry, timeout, transaction } = options;
    const wrong = readTakes(on) ? (readGives(ok) ? (isEventType(err) ? undefined : "err") : "ok") : "on";
    const or = wrong === "on" ? ", or `all(…)` of several" : wrong === "ok" ? ", or `oneOf(…)` several" : "";
    if (wrong !== undefined) throw bad(`${where}: \`${wrong}\` must be an event, made by \`event(…)\`${or}.`);
    if (givesOf({ ok }).some(({ type }) => type === err.type))
      throw bad(`${where}: success and failure must be two different events.`);
    this.on = on;
    this.ok = ok;
    this.err = err;
    this.retry = readRetry(retry, ACT_RETRY, `${where}: retry`);
    this.timeoutMs = timeout === undefined ? undefined : positiveMs(timeout, `${where}: timeout`);
    this.transaction = transaction;
  }

  /**
   * Handles one event and returns `ok` or `err` with the event that follows. A thrown error is retried; `Terminal` is
   * not.
   */
  abstract handle(
    event: TakenOf<On>,
    context: HandlerContext<Tx>,
  ): Answer<Success, Failure> | Promise<Answer<Success, Failure>>;
}

class FunctionHandler<
  On extends AnyOn,
  Success extends AnyAnswer,
  Failure extends AnyEvent,
  Tx,
> extends EventHandler<On, Success, Failure, Tx> {
  readonly #options: HandlerOptions<On, Success, Failure, Tx>;

  constructor(name: string, options: HandlerOptions<On, Success, Failure, Tx>) {
    super(name, options);
    if (typeof options.handle !== "function") throw bad(`Handler ${name}: \`handle\` must be a function.`);
    this.#options = options;
  }

  handle(
    event: TakenOf<On>,
    context: HandlerContext<Tx>,
  ): ReturnType<HandlerOptions<On, Success, Failure, Tx>["handle"]> {
    return this.#options.handle(event, context);
  }
}

/**
 * Defines a handler. Deliveries are stored under its name: do not rename it while some are open. Throws
 * `BAD_DEFINITION` if the definition is not valid.
 */
export function handler<
  On extends AnyOn,
  Success extends AnyAnswer,
  Failure extends AnyEvent,
  Tx = undefined,
>(name: string, options: HandlerOptions<On, Success, Failure, Tx>): Handler<On, Success, Failure> {
  return new FunctionHandler(name, options);
}

function bad(message: string): AmendsError {
  return new AmendsError("BAD_DEFINITION", message);
}

/** Checks the events that a handler returns: a saga step does, or the handler itself if it is no step. */
export interface AnswerCheck {
  checkSuccess(event: unknown): EventValue;
  checkFailure(event: unknown): EventValue;
}

/** The result of a handler. Throws a SagaContractViolation if it is neither of the two declared events. */
export function readAnswer(
  of: AnyHandler,
  returned: unknown,
  check: AnswerCheck = promiseOf(of),
): { readonly kind: "ok" | "err"; readonly event: EventValue } {
  if (isOk(returned)) return { kind: "ok", event: check.checkSuccess(returned.value) };
  if (isErr(returned)) return { kind: "err", event: check.checkFailure(returned.error) };
  const { name, ok, err } = of;
  throw new SagaContractViolation(
    `Handler ${name} returned neither \`ok(${ok.type}(…))\` nor \`err(${err.type}(…))\`.`,
  );
}

function promiseOf({ name, ok, err }: AnyHandler): AnswerCheck {
  const checked = (event: unknown, kind: string, promised: AnyAnswer): EventValue => {
    const given = sealOf(event)?.type;
    if (givesOf({ ok: promised }).some(({ type }) => type === given)) return event as EventValue;
    throw new SagaContractViolation(
      `Handler ${name} promises \`${kind}(${promised.type}(…))\`, but returned \`${kind}\` of ${given ?? "a value that is not an event"}.`,
    );
  };
  return {
    checkSuccess: (event) => checked(event, "ok", ok),
    checkFailure: (event) => checked(event, "err", err),
  };
}
