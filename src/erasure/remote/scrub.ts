/**
 * A ref's value may be personal data itself. After the last call with it, a mark replaces the value. An abandoned
 * erasure keeps its ref, because a requeue needs it; an abandoned rectification is never called again.
 */
import { createHash } from "node:crypto";
import type { OutboxOperation } from "../../core/outbox/entry.ts";
import type { Settle } from "../../core/outbox/machine.ts";

export const SCRUBBED = "scrubbed";

/** The replacement of a personal ref after this settle; undefined if the ref stays. */
export function scrubbedRef(event: Settle, operation: OutboxOperation): string | undefined {
  const isOver = event === "succeed" || (event === "abandon" && operation === "rectify");
  return isOver ? SCRUBBED : undefined;
}

/**
 * The deduplication key of a rectification: a hash of subject, resolver and ref. Each key has at most one open
 * rectification, and a newer one finds an abandoned one by it.
 */
export function slotOf(subjectId: string, resolver: string, kind: string, value: string): string {
  return createHash("sha256")
    .update(JSON.stringify([subjectId, resolver, kind, value]))
    .digest("base64url");
}
