/**
 * A ref's value may be personal data itself. Once nobody will call with it again, such a value goes: a mark takes its
 * place. An abandoned erasure keeps its ref, as a requeue needs it; an abandoned rectification is never called again.
 */
import { createHash } from "node:crypto";
import type { OutboxOperation } from "../../core/outbox/entry.ts";
import type { Settle } from "../../core/outbox/machine.ts";

export const SCRUBBED = "scrubbed";

/** What is left of a personal ref after this settle; undefined where it stays as it is. */
export function scrubbedRef(event: Settle, operation: OutboxOperation): string | undefined {
  const isOver = event === "succeed" || (event === "abandon" && operation === "rectify");
  return isOver ? SCRUBBED : undefined;
}

/**
 * Names what a rectification corrects, without saying it: the subject's data behind one ref at one resolver. There is
 * one open rectification for it at a time, and a newer one finds an abandoned one by it.
 */
export function slotOf(subjectId: string, resolver: string, kind: string, value: string): string {
  return createHash("sha256")
    .update(JSON.stringify([subjectId, resolver, kind, value]))
    .digest("base64url");
}
