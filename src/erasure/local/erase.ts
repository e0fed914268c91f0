/**
 * The local phase of an erasure: validate everything, record the request, delete and overwrite, cancel open
 * rectifications, enqueue the calls to other systems, record the result. All of it runs in one savepoint of the
 * caller's transaction: if the caller catches the error and commits, nothing of it is committed.
 */
import { AmendsError, errorLabel } from "../../core/errors.ts";
import type { DataMap } from "../../core/erasure/data-map.ts";
import { planErasure } from "../../core/erasure/plan.ts";
import { checkSubjectId, matchRefs, type Matched } from "../../core/erasure/request.ts";
import type { SubjectRef } from "../../core/outbox/entry.ts";
import type { Outbox } from "../remote/outbox.ts";
import type { ResolverRegistry } from "../remote/registry.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import { erasedPayload, event, skippedSteps } from "./events.ts";
import { fitLive } from "./live-schema.ts";
import { carryOut, checkGuards, checkSubject, type Erased } from "./carry-out.ts";
import { BEGUN, beginErasure, keepUntil } from "../queries.ts";
import type { Recorder } from "../recorder.ts";
import { inSavepoint } from "../../storage/joins/savepoint.ts";
import { SECURE_DELETE, setSecureDelete } from "./session-queries.ts";

export interface RequestTools<Tx> {
  readonly map: DataMap;
  readonly registry: ResolverRegistry;
  readonly outbox: Outbox<Tx>;
  readonly recorder: Recorder;
}

/** A call to an outside system that a request has put into the outbox. */
export interface EnqueuedCall {
  /** The id of the outbox entry. */
  readonly entryId: string;
  /** The name of the resolver that makes the call. */
  readonly resolver: string;
}

/** What an erasure did in the database, and which calls to outside systems follow. */
export interface ErasureReport extends Omit<Erased, "firstUntilMs"> {
  /** The id of the data subject. */
  readonly subjectId: string;
  /** 1 for the subject's first erasure. */
  readonly generation: number;
  /** The calls to outside systems that were enqueued. */
  readonly entries: readonly EnqueuedCall[];
  /** The names of resolvers for which no ref was given. */
  readonly skipped: readonly string[];
  /** True if no call to an outside system is left to be made, for this erasure or an earlier one. */
  readonly completed: boolean;
}

/** Checks the request at once. The returned work is for the caller's transaction. */
export function erase<Tx>(
  tools: RequestTools<Tx>,
  subjectId: string,
  refs: readonly SubjectRef[],
): (dialect: Dialect) => Work<ErasureReport> {
  checkSubjectId(subjectId);
  const matched = matchRefs(refs, tools.registry.names);
  return (dialect) => recorded(tools, dialect, subjectId, matched);
}

/** A failure goes on record outside of the caller's transaction. */
function* recorded<Tx>(
  tools: RequestTools<Tx>,
  dialect: Dialect,
  subjectId: string,
  matched: Matched,
): Work<ErasureReport> {
  try {
    return yield* inSavepoint("amends_erasure", () => eraseIn(tools, dialect, subjectId, matched));
  } catch (error) {
    const label = errorLabel(error);
    const events = [
      event("ERASURE", "REQUESTED", subjectId, { refs: matched.refs.length }),
      event("ERASURE", "FAILED", subjectId, { error: label }),
    ];
    tools.recorder.note(events, { subjectId, label, isErasure: true });
    throw error;
  }
}

function* eraseIn<Tx>(
  tools: RequestTools<Tx>,
  dialect: Dialect,
  subjectId: string,
  { refs, skipped }: Matched,
): Work<ErasureReport> {
  const { map, outbox, recorder } = tools;
  yield* overwriteSecurely(dialect);
  const fitted = yield* fitLive(dialect, map);
  checkSubject(fitted, subjectId);
  const plan = planErasure(fitted);
  yield* checkGuards(dialect, plan, subjectId);

  const [counted = {}] = yield beginErasure(dialect, subjectId);
  const { generation } = BEGUN.read(counted);
  yield* recorder.tell(dialect, [
    event("ERASURE", "REQUESTED", subjectId, { generation, refs: refs.length }),
  ]);
  const { firstUntilMs, ...erased } = yield* carryOut(dialect, plan, subjectId);
  if (firstUntilMs !== undefined) yield keepUntil(dialect, subjectId, firstUntilMs);
  const entries = yield* enqueue(tools, dialect, subjectId, refs, generation);
  if (entries.length === 0) yield* outbox.cancelling(dialect, subjectId);
  yield* recorder.tell(dialect, [
    ...skippedSteps(
      "ERASURE",
      subjectId,
      skipped.map((resolver) => [resolver, "no ref was given"] as const),
    ),
    event("ERASURE", "LOCAL_COMPLETED", subjectId, {
      generation,
      entries: entries.length,
      ...erasedPayload({ ...erased, firstUntilMs }),
    }),
  ]);
  const completed =
    entries.length === 0 && (yield* outbox.completing(dialect, { subjectId, operation: "erase" }));
  return { subjectId, generation, ...erased, entries, skipped, completed };
}

function* enqueue<Tx>(
  { outbox }: RequestTools<Tx>,
  dialect: Dialect,
  subjectId: string,
  refs: readonly SubjectRef[],
  generation: number,
): Work<readonly EnqueuedCall[]> {
  const ids = yield* outbox.enqueueing(
    dialect,
    refs.map((ref) => ({ subjectId, resolver: ref.kind, ref, operation: "erase", generation })),
  );
  return refs.map(({ kind }, index) => ({ entryId: ids[index] as string, resolver: kind }));
}

/** SQLite leaves deleted bytes in its file, unless the deleting connection sets secure_delete. */
export function* overwriteSecurely(dialect: Dialect): Work<void> {
  if (dialect.name !== "sqlite") return;
  const [row = {}] = yield setSecureDelete();
  if (SECURE_DELETE.tryRead(row)?.isOn !== true) {
    throw new AmendsError(
      "DATABASE_UNSAFE",
      "This SQLite does not support secure_delete, so erased data would remain in the file. Use a SQLite build with secure_delete.",
    );
  }
}
