/** Tells whoever is on call that an entry needs a person: after it is durable, and without being able to disturb it. */
import type { OutboxEntry, OutboxOperation } from "../../core/outbox/entry.ts";

/** Labels and ids only, safe to send to a pager. */
export interface AbandonedSignal {
  /** The id of the entry. */
  readonly entryId: string;
  /** The person that it is about. */
  readonly subjectId: string;
  /** The resolver that was called. */
  readonly resolver: string;
  /** What the resolver was asked to do. */
  readonly operation: OutboxOperation;
  /** How often it was tried. */
  readonly attempts: number;
  /** A label, never a message. */
  readonly error: string;
}

/** What it throws is ignored, and it is not waited for beyond a second. */
export type AbandonedHook = (signal: AbandonedSignal) => unknown;

export function abandonedSignal(entry: OutboxEntry, error: string): AbandonedSignal {
  const { entryId, subjectId, resolver, operation, attempts } = entry;
  return { entryId, subjectId, resolver, operation, attempts, error };
}
