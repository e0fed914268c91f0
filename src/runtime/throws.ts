/**
 * What the user's own code threw, for a developer who looks on while it runs (`amends dev`). Elsewhere only labels are
 * told, because messages carry people: nobody listens unless a person asked for it, nothing of it is stored, and
 * without a listener it costs nothing.
 */
import { channel } from "node:diagnostics_channel";

export interface Throw {
  readonly part: "saga" | "handler" | "call" | "resolver";
  /** Of the saga, handler, call or resolver. */
  readonly name: string;
  /** Of the saga, or of the outbox entry. */
  readonly id: string;
  /** Of a saga. */
  readonly step?: string;
  readonly isUndo?: boolean;
  readonly attempt: number;
  readonly error: unknown;
  /** Until the next try; undefined where there is none. */
  readonly waitMs: number | undefined;
}

const throws = channel("amends.throw");

export function tellThrow(describe: () => Throw): void {
  if (throws.hasSubscribers) throws.publish(describe());
}

/** Returns how to stop. A listener that fails must not fail what it listens to. */
export function onThrow(listener: (thrown: Throw) => void): () => void {
  const guarded = (message: unknown): void => {
    try {
      listener(message as Throw);
    } catch {
      // There is nobody left to tell.
    }
  };
  throws.subscribe(guarded);
  return () => {
    throws.unsubscribe(guarded);
  };
}
