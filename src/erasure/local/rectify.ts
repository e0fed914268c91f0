/**
 * The local phase of a rectification: writes the correct values to every column of their categories in the
 * subject's rows, retained ones too, and enqueues an entry for every outside system that can correct. The values
 * are stored in the application's tables and in the entries, nowhere else.
 */
import { AmendsError, errorLabel } from "../../core/errors.ts";
import { planRectification } from "../../core/erasure/rectification.ts";
import { checkCorrections, checkSubjectId, matchRefs, type Matched } from "../../core/erasure/request.ts";
import type { Correction, SubjectRef } from "../../core/outbox/entry.ts";
import { canRectify } from "../remote/registry.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import { overwriteSecurely, type EnqueuedCall, type RequestTools } from "./erase.ts";
import { event, prefixed, skippedSteps } from "./events.ts";
import { fitLive } from "./live-schema.ts";
import { checkSubject, correct, type RowCounts } from "./carry-out.ts";
import { beginRectification, BEGUN } from "../queries.ts";
import { inSavepoint } from "../../storage/joins/savepoint.ts";

/** The options of a rectification. */
export interface RectifyOptions {
  /**
   * Allows the rectification of a subject who was erased before. `retained`: correct only the data that the law still
   * keeps. `anew`: the person is back under the same id. Default: such a rectification throws `SUBJECT_ERASED`.
   */
  readonly afterErasure?: "retained" | "anew";
}

/** What a rectification did in the database, and which calls to outside systems follow. */
export interface RectificationReport {
  /** The id of the data subject. */
  readonly subjectId: string;
  /** 1 for the subject's first rectification. */
  readonly generation: number;
  /** The number of corrected rows per table. */
  readonly corrected: RowCounts;
  /** The calls to outside systems that were enqueued. */
  readonly entries: readonly EnqueuedCall[];
  /** The names of resolvers that cannot correct, or for which no ref was given. */
  readonly skipped: readonly string[];
  /** True if no call to an outside system is left to be made, for this rectification or an earlier one. */
  readonly completed: boolean;
}

/** Checks the request at once. The returned work is for the caller's transaction. */
export function rectify<Tx>(
  tools: RequestTools<Tx>,
  subjectId: string,
  corrections: readonly Correction[],
  refs: readonly SubjectRef[],
  options: RectifyOptions,
): (dialect: Dialect) => Work<RectificationReport> {
  checkSubjectId(subjectId);
  checkCorrections(corrections, tools.map.categories);
  const matched = matchRefs(refs, tools.registry.names);
  const { afterErasure } = options;
  if (afterErasure === "retained" && matched.refs.length > 0) {
    throw new AmendsError(
      "BAD_INPUT",
      "Retained data is corrected in this database only, because the outside systems erase theirs. Leave `refs` empty.",
    );
  }
  return (dialect) => recorded(tools, dialect, subjectId, corrections, matched, afterErasure);
}

/** A failure goes on record outside of the caller's transaction. */
function* recorded<Tx>(
  tools: RequestTools<Tx>,
  dialect: Dialect,
  subjectId: string,
  corrections: readonly Correction[],
  matched: Matched,
  afterErasure: RectifyOptions["afterErasure"],
): Work<RectificationReport> {
  try {
    return yield* inSavepoint("amends_rectification", () =>
      rectifyIn(tools, dialect, subjectId, corrections, matched, afterErasure),
    );
  } catch (error) {
    const label = errorLabel(error);
    const events = [
      event("RECTIFICATION", "REQUESTED", subjectId, { categories: named(corrections) }),
      event("RECTIFICATION", "FAILED", subjectId, { error: label }),
    ];
    tools.recorder.note(events, { subjectId, label, isErasure: false });
    throw error;
  }
}

function* rectifyIn<Tx>(
  { map, registry, outbox, recorder }: RequestTools<Tx>,
  dialect: Dialect,
  subjectId: string,
  corrections: readonly Correction[],
  { refs, skipped }: Matched,
  afterErasure: RectifyOptions["afterErasure"],
): Work<RectificationReport> {
  yield* overwriteSecurely(dialect);
  const fitted = yield* fitLive(dialect, map);
  checkSubject(fitted, subjectId);
  const plan = planRectification(fitted, corrections, afterErasure === "retained");

  const [counted = {}] = yield beginRectification(dialect, subjectId);
  const { generation, erasures } = BEGUN.read(counted);
  if (erasures > 0 && afterErasure === undefined) throw erasedBefore();
  yield* recorder.tell(dialect, [
    event("RECTIFICATION", "REQUESTED", subjectId, { generation, categories: named(corrections) }),
  ]);
  const corrected = yield* correct(dialect, plan, subjectId);
  const able = refs.filter(({ kind }) => canRectify(registry.get(kind)));
  const unable = [...new Set(refs.map(({ kind }) => kind))].filter((kind) => !canRectify(registry.get(kind)));
  const ids = yield* outbox.enqueueing(
    dialect,
    able.map((ref) => ({
      subjectId,
      resolver: ref.kind,
      ref,
      operation: "rectify",
      corrections,
      generation,
    })),
  );
  const entries = able.map(({ kind }, index) => ({ entryId: ids[index] as string, resolver: kind }));
  yield* recorder.tell(dialect, [
    ...skippedSteps("RECTIFICATION", subjectId, [
      ...unable.map((resolver) => [resolver, "it cannot rectify"] as const),
      ...skipped.map((resolver) => [resolver, "no ref was given"] as const),
    ]),
    event("RECTIFICATION", "LOCAL_COMPLETED", subjectId, {
      generation,
      entries: entries.length,
      ...prefixed("corrected", corrected),
    }),
  ]);
  const completed =
    entries.length === 0 && (yield* outbox.completing(dialect, { subjectId, operation: "rectify" }));
  return { subjectId, generation, corrected, entries, skipped: [...unable, ...skipped], completed };
}

/** Names of categories, never their values. */
function named(corrections: readonly Correction[]): string {
  return corrections.map(({ category }) => category).join(", ");
}

function erasedBefore(): AmendsError {
  return new AmendsError(
    "SUBJECT_ERASED",
    'This subject was erased: a rectification would write personal data again. Nothing was written. Pass `afterErasure: "retained"` to correct what the law still keeps, or `afterErasure: "anew"` if the person is back under the same id.',
  );
}
