/**
 * A ref's value may be personal data itself. Once an entry is done with, such a value goes: it is replaced by a mark.
 * An abandoned rectification is known again by a hash, because a later one must find it; an abandoned erasure keeps
 * its ref, as a requeue needs it.
 */
import { createHash } from "node:crypto";
import type { OutboxOperation, SubjectRef } from "../core/outbox/entry.ts";
import type { Settle } from "../core/outbox/machine.ts";

export const SCRUBBED = "scrubbed";

export function refHash(subjectId: string, { kind, value }: Pick<SubjectRef, "kind" | "value">): string {
  const text = JSON.stringify([subjectId, kind, value]);
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** What is left of a personal ref after this settle; undefined where it stays as it is. */
export function scrubbedRef(
  event: Settle,
  entry: { readonly subjectId: string; readonly operation: OutboxOperation; readonly ref: SubjectRef },
): string | undefined {
  if (event === "succeed") return SCRUBBED;
  return event === "abandon" && entry.operation === "rectify"
    ? refHash(entry.subjectId, entry.ref)
    : undefined;
}
