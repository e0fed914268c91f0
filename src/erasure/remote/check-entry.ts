/** Validates all entries before any is written; the error names the wrong field and the reason. */
import { AmendsError } from "../../core/errors.ts";
import { checkId, checkName, checkUuid, SYSTEM_NAME_MAX } from "../../core/identity.ts";
import { encodeJson } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import {
  OPERATIONS,
  type Correction,
  type NewOutboxEntry,
  type OutboxOperation,
  type SubjectRef,
} from "../../core/outbox/entry.ts";

import { slotOf } from "./scrub.ts";

export const SUBJECT_MAX = 255;
export const REF_MAX = 1_024;

export interface CheckedEntry {
  readonly entryId: string;
  readonly subjectId: string;
  readonly resolver: string;
  readonly ref: SubjectRef;
  readonly refExtra: string | null;
  readonly operation: OutboxOperation;
  readonly corrections: readonly Correction[];
  readonly generation: number;
  /** The corrections of a rectification; null for an erasure. */
  readonly slot: string | null;
}

const FIELDS = ["subjectId", "resolver", "ref", "operation", "corrections", "generation", "entryId"];

export function checkEntry(given: NewOutboxEntry, newId: () => string): CheckedEntry {
  refuseUnknown(given, FIELDS, "An outbox entry");
  const { operation = "erase", corrections = [], generation = 0 } = given;
  if (!OPERATIONS.includes(operation)) refuse(`operation must be one of ${OPERATIONS.join(", ")}`);
  if (!Number.isSafeInteger(generation) || generation < 0) refuse("generation must be a whole number");
  if (operation === "erase" && corrections.length > 0) refuse("an erase entry has no corrections");
  if (operation === "rectify" && corrections.length === 0) refuse("a rectify entry needs its corrections");
  checkCorrections(corrections);
  const { ref } = given;
  refuseUnknown(ref, ["kind", "value", "extra"], "The ref of an outbox entry");
  const subjectId = checkId(given.subjectId, "subjectId", SUBJECT_MAX);
  const resolver = checkName(given.resolver, "resolver", SYSTEM_NAME_MAX);
  const kind = checkName(ref.kind, "ref.kind", SYSTEM_NAME_MAX);
  const value = checkId(ref.value, "ref.value", REF_MAX);
  return {
    entryId: given.entryId === undefined ? newId() : checkUuid(given.entryId, "entryId"),
    subjectId,
    resolver,
    ref: { kind, value, ...(ref.extra && { extra: ref.extra }) },
    slot: operation === "rectify" ? slotOf(subjectId, resolver, kind, value) : null,
    refExtra: checkExtra(ref.extra),
    operation,
    corrections,
    generation,
  };
}

function checkExtra(extra: SubjectRef["extra"]): string | null {
  if (extra === undefined) return null;
  if (typeof extra !== "object" || extra === null || Array.isArray(extra))
    return refuse("ref.extra must be an object of texts");
  const odd = Object.entries(extra).find(([, value]) => typeof value !== "string");
  if (odd) return refuse(`ref.extra must be an object of texts, and ${odd[0]} is not a text`);
  return encodeJson(extra, { field: "ref.extra", code: "BAD_INPUT" });
}

export function checkCorrections(corrections: readonly Correction[]): void {
  const seen = new Set<string>();
  for (const { category, value } of corrections) {
    checkName(category, "The category of a correction");
    if (seen.has(category)) refuse(`category ${category} is corrected twice`);
    seen.add(category);
    if (!["string", "number", "boolean"].includes(typeof value))
      refuse(`the value of category ${category} must be a text, a number or a boolean`);
  }
}

/** Corrections as they are stored. */
export function encodeCorrections(corrections: readonly Correction[]): string | null {
  if (corrections.length === 0) return null;
  const plain = corrections.map(({ category, value }) => ({ category, value }));
  return encodeJson(plain, { field: "The corrections of an outbox entry", code: "BAD_INPUT" });
}

function refuse(why: string): never {
  throw new AmendsError("BAD_INPUT", `An outbox entry is not valid: ${why}. Nothing was written.`);
}
