/** Checks the caller's input before anything is read or written. */
import { AmendsError } from "../errors.ts";
import { checkId } from "../identity.ts";
import type { Correction, SubjectRef } from "../outbox/entry.ts";

export const SUBJECT_ID_MAX = 255;
const VALUE_MAX = 10_000;
const EXTRA_MAX = 50;

export function checkSubjectId(subjectId: unknown): string {
  return checkId(subjectId, "The subject's id", SUBJECT_ID_MAX);
}

export interface Matched {
  /** The refs without duplicates. The kind of a ref is the name of its resolver. */
  readonly refs: readonly SubjectRef[];
  /** Resolvers for which no ref was given. */
  readonly skipped: readonly string[];
}

export function matchRefs(given: unknown, resolvers: readonly string[]): Matched {
  if (!Array.isArray(given))
    return refuse(
      "`refs` must be a list of { kind, value }; an empty one if no other system knows the subject.",
    );
  const refs = (given as unknown[]).map((ref, index) => checkRef(ref, index));
  const lost = refs.find(({ kind }) => !resolvers.includes(kind));
  if (lost) {
    return refuse(
      `There is no resolver named ${lost.kind} for a ref of that kind. There are: ${resolvers.join(", ") || "none"}. Add it to \`resolvers\`, or leave the ref out.`,
    );
  }
  const once = new Map(refs.map((ref) => [JSON.stringify([ref.kind, ref.value, ref.extra]), ref]));
  const kinds = new Set(refs.map(({ kind }) => kind));
  return { refs: [...once.values()], skipped: resolvers.filter((name) => !kinds.has(name)) };
}

function checkRef(given: unknown, index: number): SubjectRef {
  const where = `Ref ${index + 1}`;
  const { kind, value, extra } = (given ?? {}) as Partial<Record<keyof SubjectRef, unknown>>;
  checkId(kind, `${where}: kind`, SUBJECT_ID_MAX);
  checkId(value, `${where}: value`, VALUE_MAX);
  if (extra !== undefined) {
    if (
      typeof extra !== "object" ||
      extra === null ||
      Array.isArray(extra) ||
      Object.keys(extra).length > EXTRA_MAX
    )
      return refuse(`${where}: extra is an object of up to ${EXTRA_MAX} texts.`);
    for (const [name, text] of Object.entries(extra)) {
      checkId(name, `${where}: a name in extra`, SUBJECT_ID_MAX);
      if (typeof text !== "string" || text.length > VALUE_MAX || text.includes("\0"))
        return refuse(`${where}: extra holds only texts.`);
    }
  }
  return given as SubjectRef;
}

export function checkCorrections(given: unknown, categories: readonly string[]): readonly Correction[] {
  if (!Array.isArray(given) || given.length === 0) {
    return refuse("`corrections` must be a list of { category, value }, and must not be empty.");
  }
  const seen = new Set<unknown>();
  for (const correction of given as unknown[]) {
    const { category, value } = (correction ?? {}) as Partial<Record<keyof Correction, unknown>>;
    // The wrong value may be personal data: the error does not contain it.
    if (typeof category !== "string" || !categories.includes(category)) {
      return refuse(
        `A correction names a category that is not in the data map. There are: ${categories.join(", ")}.`,
      );
    }
    if (seen.has(category)) return refuse(`The category ${category} is corrected twice. Give each once.`);
    seen.add(category);
    const isScalar =
      typeof value === "string" ||
      typeof value === "boolean" ||
      (typeof value === "number" && Number.isFinite(value));
    if (!isScalar)
      return refuse(`The correction of ${category} must be a text, a finite number, true or false.`);
    if (typeof value === "string" && (value.length > VALUE_MAX || value.includes("\0")))
      return refuse(`The correction of ${category} must have at most ${VALUE_MAX} characters, and no NUL.`);
  }
  return given as readonly Correction[];
}

function refuse(message: string): never {
  throw new AmendsError("BAD_INPUT", message);
}
