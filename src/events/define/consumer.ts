/** A consumer only listens: it gets every event of one type, and answers with no event. */
import { ACT_RETRY, readRetry, type RetryOptions, type RetryPolicy } from "../../core/backoff.ts";
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkName } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import { isErr, isOk } from "../../core/result.ts";
import type { TransactionKind } from "../../sagas/define/transaction-kind.ts";
import type { AnyEvent, DeliveredOf } from "./event.ts";
import type { HandlerContext } from "./handler.ts";
import { isEventType } from "./several.ts";
import { SagaContractViolation } from "./violation.ts";

/** The options of `consumer`. */
export interface ConsumerOptions<On extends AnyEvent, Tx = undefined> {
  /** The type of event that it listens to. */
  readonly on: On;
  /** Handles one event. It is done when this returns. A thrown error is retried; `Terminal` is not. */
  handle(event: DeliveredOf<On>, context: HandlerContext<Tx>): void | Promise<void>;
  /**
   * The number of attempts of a consumer that throws, and the waits between them. Default: 8 attempts, from 1s up to 1h.
   */
  readonly retry?: RetryOptions;
  /** The timeout of one attempt: then its signal aborts, and the attempt counts as failed. Default: none. */
  readonly timeout?: Duration;
  /**
   * Runs the consumer in a transaction that commits together with the mark that it is done, exactly once. Default: no
   * transaction.
   */
  readonly transaction?: TransactionKind<Tx>;
}

/** A consumer, made by `consumer(…)`. */
export interface Consumer<On extends AnyEvent = AnyEvent> {
  /** The name under which its deliveries are stored. */
  readonly name: string;
  /** The type of event that it listens to. */
  readonly on: On;
  /** The checked retry schedule. */
  readonly retry: RetryPolicy;
  /** The timeout of one attempt in milliseconds; undefined for none. */
  readonly timeoutMs: number | undefined;
  /** The kind of transaction that it runs in; undefined for none. */
  readonly transaction: TransactionKind<unknown> | undefined;
  /** The function that handles an event. The worker calls it. */
  handle(event: never, context: never): unknown;
}

const OPTIONS = ["on", "handle", "retry", "timeout", "transaction"];

/**
 * Defines a consumer. Deliveries are stored under its name: do not rename it while some are open. Throws
 * `BAD_DEFINITION` if the definition is not valid.
 */
export function consumer<On extends AnyEvent, Tx = undefined>(
  name: string,
  options: ConsumerOptions<On, Tx>,
): Consumer<On> {
  checkName(name, "A consumer's name");
  const where = `Consumer ${name}`;
  refuseUnknown(options, OPTIONS, where);
  if (!isEventType(options.on)) throw bad(`${where}: \`on\` must be an event, made by \`event(…)\`.`);
  if (typeof options.handle !== "function") throw bad(`${where}: \`handle\` must be a function.`);
  const { on, retry, timeout, transaction } = options;
  return {
    name,
    on,
    retry: readRetry(retry, ACT_RETRY, `${where}: retry`),
    timeoutMs: timeout === undefined ? undefined : positiveMs(timeout, `${where}: timeout`),
    transaction,
    handle: (event: DeliveredOf<On>, context: HandlerContext<Tx>) => options.handle(event, context),
  };
}

/**
 * A consumer has no answer. What its function happens to return is not looked at, except `ok` and `err`: whoever returns them
 * expects something to come of it.
 */
export function checkNoAnswer(name: string, returned: unknown): void {
  if (!isOk(returned) && !isErr(returned)) return;
  throw new SagaContractViolation(
    `Consumer ${name} returned \`${isOk(returned) ? "ok" : "err"}(…)\`, but a consumer answers with no event. Throw to have the event delivered again, or define a \`handler\`.`,
  );
}

function bad(message: string): AmendsError {
  return new AmendsError("BAD_DEFINITION", message);
}
