/** Whatever gets events: a handler, which answers with an event, or a consumer, which answers with none. */
import type { EventValue } from "./event.ts";
import { checkNoAnswer, type Consumer } from "./consumer.ts";
import { readAnswer, type AnswerCheck, type AnyHandler } from "./handler.ts";

/** The names of the consumers that make webhooks of events begin with this. */
export const WEBHOOK_PREFIX = "$webhook.";

/** A handler or a consumer, whatever its events. */
export type Subscriber = AnyHandler | Consumer;

export function isHandler(one: Subscriber): one is AnyHandler {
  return "ok" in one;
}

/** What came of a call; a consumer has no event. Throws a SagaContractViolation for what was not declared. */
export function readResult(
  of: Subscriber,
  returned: unknown,
  check?: AnswerCheck,
): { readonly kind: "ok" | "err"; readonly event: EventValue | undefined } {
  if (isHandler(of)) return readAnswer(of, returned, check);
  checkNoAnswer(of.name, returned);
  return { kind: "ok", event: undefined };
}
