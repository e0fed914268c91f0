/**
 * Errors of application code with their messages, for a developer who watches a run (`amends dev`). Everywhere else
 * only labels are reported, because messages may contain personal data. Nothing of this is stored, and without a
 * listener it costs nothing.
 */
import { channel } from "node:diagnostics_channel";

export interface Throw {
  readonly part: "saga" | "handler" | "call" | "resolver";
  /** The name of the saga, handler, call or resolver. */
  readonly name: string;
  /** The id of the saga or of the outbox entry. */
  readonly id: string;
  /** The step of a saga. */
  readonly step?: string;
  readonly isUndo?: boolean;
  readonly attempt: number;
  readonly error: unknown;
  /** Milliseconds until the next attempt; undefined if there is none. */
  readonly waitMs: number | undefined;
}

const throws = channel("amends.throw");

export function tellThrow(describe: () => Throw): void {
  if (throws.hasSubscribers) throws.publish(describe());
}

/** Returns a function that removes the listener. Errors of a listener are ignored. */
export function onThrow(listener: (thrown: Throw) => void): () => void {
  const guarded = (message: unknown): void => {
    try {
      listener(message as Throw);
    } catch {
      // The error of a listener has no receiver.
    }
  };
  throws.subscribe(guarded);
  return () => {
    throws.unsubscribe(guarded);
  };
}
