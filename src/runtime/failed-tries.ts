/**
 * Reports each failed try of application code: to the logger with its label, and to a developer who watches a run
 * (`amends dev`) with the error. The log gets labels only, because messages may contain personal data.
 */
import { channel } from "node:diagnostics_channel";
import type { PartContext } from "./part.ts";

export interface FailedTry {
  readonly part: "saga" | "handler" | "call" | "resolver";
  /** The name of the saga, handler, call or resolver. */
  readonly name: string;
  /** The id of the saga or of the outbox entry. */
  readonly id: string;
  /** The step of a saga. */
  readonly step?: string;
  readonly isUndo?: boolean;
  readonly attempt: number;
  readonly label: string;
  /** What was thrown, which is stored and logged nowhere; undefined after a time limit. */
  readonly error?: unknown;
  /** Milliseconds until the next attempt; undefined if there is none. */
  readonly waitMs: number | undefined;
}

const tries = channel("amends.failed-try");

/** The message of the log lines. */
export const FAILED_TRY = "amends: a try failed";

export function reportFailedTry(warn: PartContext["warn"], failed: FailedTry): void {
  const { part, name, id, step, isUndo, attempt, label, waitMs } = failed;
  const action = isUndo === undefined ? undefined : isUndo ? "compensate" : "act";
  const fields = { part, name, id, step, action, attempt, label, nextTryMs: waitMs };
  warn(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)), FAILED_TRY);
  if (tries.hasSubscribers) tries.publish(failed);
}

/** Returns a function that removes the listener. Errors of a listener are ignored. */
export function onFailedTry(listener: (failed: FailedTry) => void): () => void {
  const guarded = (message: unknown): void => {
    try {
      listener(message as FailedTry);
    } catch {
      // The error of a listener has no receiver.
    }
  };
  tries.subscribe(guarded);
  return () => {
    tries.unsubscribe(guarded);
  };
}
