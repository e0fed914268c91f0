/**
 * Notifies the application that an entry was abandoned and needs an operator. The hook runs after the commit, and
 * its errors have no effect on the entry.
 */
import type { OutboxEntry, OutboxOperation } from "../../core/outbox/entry.ts";

/** An entry that was abandoned and needs a person. It holds ids and labels only, so that it can be sent to a pager. */
export interface AbandonedSignal {
  /** The id of the entry. */
  readonly entryId: string;
  /** The id of the data subject. */
  readonly subjectId: string;
  /** The name of the resolver. */
  readonly resolver: string;
  /** Whether the call erases or corrects. */
  readonly operation: OutboxOperation;
  /** The number of attempts. */
  readonly attempts: number;
  /** The label of the last error, never its message. */
  readonly error: string;
}

/**
 * Called after an entry was abandoned durably. Its errors are logged and ignored. The runner waits for it for at most
 * one second.
 */
export type AbandonedHook = (signal: AbandonedSignal) => unknown;

export function abandonedSignal(entry: OutboxEntry, error: string): AbandonedSignal {
  const { entryId, subjectId, resolver, operation, attempts } = entry;
  return { entryId, subjectId, resolver, operation, attempts, error };
}
