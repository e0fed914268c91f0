/** Words that the reasons of several kinds share. */
import type { EventSubscription } from "../events/subscriptions/operators.ts";

export function attemptsText(count: number): string {
  return count === 1 ? "1 attempt" : `${count} attempts`;
}

export function linesText(count: number): string {
  return count === 1 ? "1 line" : `${count} lines`;
}

/** The error code of a webhook's attempt, in words. */
export function responseText(code: string): string {
  if (code === "gone") return "it answered HTTP 410 (gone for good)";
  if (code === "subscription_disabled") return "not sent, the subscription is disabled";
  if (code === "subscription_deleted") return "not sent, the subscription was deleted";
  const status = /^http_(\d{3})$/.exec(code)?.[1];
  return status === undefined ? code : `it answered HTTP ${status}`;
}

/** Why a registered handler needs a person. */
export function unservedHandlerText({ event, saga, status, backlog }: EventSubscription): string {
  const waiting = `${backlog}${backlog >= 1_000 ? " or more" : ""} ${event} ${backlog === 1 ? "waits" : "wait"}`;
  if (status === "retired")
    return `${waiting}: the handler was retired while they were published. Retire it once more`;
  const what = saga === undefined ? "the handler" : `saga ${saga}, of which the handler is a part`;
  return `${waiting}: no running worker has ${what}. Run a worker that has it, or retire the handler if it is gone for good`;
}
