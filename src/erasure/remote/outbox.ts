/**
 * The transactional outbox of subjects' requests. Entries are written in the caller's transaction, so the local
 * change and its calls to outside systems commit together or not at all. A runner claims the entries afterwards.
 * Every settle is fenced by the claim: a settle of a lost claim changes nothing and returns `false`.
 */
import type { AnySink } from "../../audit/sink.ts";
import { DEFAULT_LEASE_MS } from "../../core/backoff.ts";
import { durationMs, positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError, ConfigurationError } from "../../core/errors.ts";
import { checkId } from "../../core/identity.ts";
import type { OperatorNote } from "../../core/operator-note.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { NewOutboxEntry, OutboxEntry } from "../../core/outbox/entry.ts";
import type { Database, Dialect, Session } from "../../storage/database.ts";
import { perform, type Work } from "../../storage/joins/work.ts";
import { retrying } from "../../storage/read/reader.ts";
import { readPage, sourceOf } from "../../storage/read/selection.ts";
import { persist, type RetryLimits } from "../../storage/retry.ts";
import { retryLimitsOf, standalone, type PartContext } from "../../runtime/part.ts";
import { OutboxWriter } from "../../outbox/outcome-writer.ts";
import { checkLimit, ENTRY_PLACE, type EntryPage, type PageOptions } from "../../outbox/read/entry-page.ts";
import { checkUuid } from "../../core/identity.ts";
import { SUBJECT_MAX } from "./check-entry.ts";
import { enqueueIn, tell } from "./enqueue.ts";
import { abandonedRows, scheduledRows } from "../../outbox/read/list-queries.ts";
import { completeIn } from "./complete.ts";
import { requeue, type RequeueNote } from "./requeue.ts";
import { resolve } from "./resolve.ts";
import { ENTRY, toEntry } from "../../outbox/rows.ts";
import type { Request } from "../../outbox/settle-queries.ts";
import { settleIn, type Settlement } from "../../outbox/settle.ts";
import { databaseCounts, type StatusCounts, type StatusCountsSource } from "./status-counts.ts";
import { cancelRectifications } from "./supersede.ts";

/** The options of an `Outbox`. */
export interface OutboxOptions {
  /** Where audit events go. `requeue`, `resolve`, `completeLocally` and superseding a rectification require it. */
  readonly audit?: AnySink;
  /** Replaces the query behind `statusCounts`. Default: one query on the database. */
  readonly statusCountsSource?: StatusCountsSource;
}

/** The options of `claimBatch`. */
export interface ClaimOptions {
  /** How long the claim is valid without renewal. Default: 5m. */
  readonly lease?: Duration;
}

/** The options of `markSucceeded`. */
export interface SucceededOptions<Tx> {
  /**
   * Called inside the open transaction if this was the last entry that the subject's request waited for. If it throws,
   * the success is rolled back and the entry stays claimed until its lease ends.
   */
  readonly onSubjectComplete?: (tx: Tx) => unknown;
}

/** The label of the error, and when the entry is due again: after `waitMs` milliseconds, or at `nextAttemptAt`. */
export type FailedOptions = {
  /** The label of the error; never personal data. A text that is no label throws `BAD_OPTION`. */
  readonly error: string;
} & (
  | { readonly waitMs: number; readonly nextAttemptAt?: never }
  | { readonly nextAttemptAt: Date; readonly waitMs?: never }
);

/** The transactional outbox of erasures and rectifications. */
export class Outbox<Tx = unknown> {
  /** Not for users: the runner reads it. */
  readonly host: PartContext<Tx>;
  /** Not for users: the runner settles through it. */
  readonly writer: OutboxWriter;
  readonly #audit: AnySink | undefined;
  readonly #counts: StatusCountsSource;
  readonly #retryLimits: RetryLimits;
  readonly #listeners: (() => void)[] = [];

  constructor(
    database: Database<Tx>,
    options: OutboxOptions = {},
    /** Not for users: what an Amends shares with its parts. */
    context: PartContext<Tx> = standalone(database),
  ) {
    refuseUnknown(options, ["audit", "statusCountsSource"], "new Outbox");
    this.host = context;
    this.writer = new OutboxWriter(this.host);
    this.#audit = options.audit;
    this.#counts = options.statusCountsSource ?? databaseCounts(this.host);
    this.#retryLimits = retryLimitsOf(this.host, "erasure");
  }

  /** Not for users: the callback runs after every enqueue here. */
  onEnqueued(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Writes entries in the caller's open transaction, without committing it, and returns their ids. A rectification
   * supersedes older ones of the same subject, resolver and ref; an erasure cancels the subject's open rectifications.
   * Throws `BAD_INPUT` if an entry is not valid.
   */
  async enqueue(tx: Tx, entries: readonly NewOutboxEntry[]): Promise<readonly string[]> {
    return this.enqueueIn(this.host.database.join(tx), entries);
  }

  /** @internal */
  async enqueueIn(session: Session, entries: readonly NewOutboxEntry[]): Promise<readonly string[]> {
    return perform(session, this.enqueueing(session.dialect, entries));
  }

  /** @internal */
  *enqueueing(dialect: Dialect, entries: readonly NewOutboxEntry[]): Work<readonly string[]> {
    const { host } = this;
    const tools = {
      newId: () => host.newId(),
      traceparent: () => host.tracer.current(),
      audit: this.#audit,
    };
    const ids = yield* enqueueIn(dialect, tools, entries);
    if (ids.length > 0) yield* this.#wake(dialect);
    return ids;
  }

  /**
   * Cancels the subject's open rectifications and clears their values, in the caller's transaction. Use it for an
   * erasure that has no entry of its own. Returns the number of cancelled entries.
   */
  async cancelRectifications(tx: Tx, subjectId: string): Promise<number> {
    checkId(subjectId, "subjectId", SUBJECT_MAX);
    const session = this.host.database.join(tx);
    return perform(session, this.cancelling(session.dialect, subjectId));
  }

  /** @internal */
  *cancelling(dialect: Dialect, subjectId: string): Work<number> {
    const events = yield* cancelRectifications(dialect, subjectId);
    yield* tell(dialect, this.#audit, events);
    return events.length;
  }

  /**
   * Completes a request that has no entry of its own, in the caller's transaction. Returns false if an entry of an
   * earlier generation is still open.
   */
  async completeLocally(tx: Tx, request: Request): Promise<boolean> {
    checkId(request.subjectId, "subjectId", SUBJECT_MAX);
    const session = this.host.database.join(tx);
    return perform(session, this.completing(session.dialect, request));
  }

  /** @internal */
  completing(dialect: Dialect, request: Request): Work<boolean> {
    return completeIn(dialect, this.#sink("A completion"), request, () => this.host.newId());
  }

  /**
   * Claims up to `limit` due entries and returns them, oldest first. Each claim counts as an attempt. Default: 50
   * entries.
   */
  async claimBatch(
    limit: number = 50,
    { lease = DEFAULT_LEASE_MS }: ClaimOptions = {},
  ): Promise<readonly OutboxEntry[]> {
    if (!Number.isInteger(limit) || limit < 1)
      throw new AmendsError("BAD_OPTION", "The limit of a claim must be a whole number, 1 or more.");
    const leaseMs = positiveMs(lease, "lease");
    const rows = await this.writer.claim(ENTRY, { kind: "erasure", limit, leaseMs });
    return rows.map(toEntry).toSorted(byAge);
  }

  /** Settles an entry whose call succeeded. Returns false if the claim was lost. */
  async markSucceeded(
    entry: OutboxEntry,
    { onSubjectComplete }: SucceededOptions<Tx> = {},
  ): Promise<boolean> {
    const { subjectId, operation } = entry;
    const item = { ...pieceOf(entry, "succeed"), completes: { subjectId, operation } };
    const { database } = this.host;
    const [settled] = await persist(
      database,
      () =>
        database.transaction(
          (session, tx) => settleIn(session, [item], async () => void (await onSubjectComplete?.(tx))),
          onSubjectComplete !== undefined,
        ),
      this.#retryLimits,
    );
    return settled !== "lost";
  }

  /** Settles an entry whose call failed and is to be retried. Returns false if the claim was lost. */
  async markFailed(entry: OutboxEntry, options: FailedOptions): Promise<boolean> {
    const { error, waitMs, nextAttemptAt } = options;
    const due =
      nextAttemptAt === undefined
        ? { waitMs: durationMs(waitMs, "waitMs") }
        : { waitMs: 0, notBeforeMs: instantMs(nextAttemptAt, "nextAttemptAt") };
    return this.#settle({ ...pieceOf(entry, "fail"), ...due, error: checkLabel(error) });
  }

  /**
   * Settles an entry whose data expires at `resumeAt`: the entry is due again then. Returns false if the claim was
   * lost.
   */
  async markScheduled(entry: OutboxEntry, resumeAt: Date): Promise<boolean> {
    return this.#settle({
      ...pieceOf(entry, "park"),
      waitMs: 0,
      notBeforeMs: instantMs(resumeAt, "resumeAt"),
    });
  }

  /** Settles an entry whose call failed permanently: the entry needs attention. Returns false if the claim was lost. */
  async markAbandoned(entry: OutboxEntry, { error }: { readonly error: string }): Promise<boolean> {
    return this.#settle({ ...pieceOf(entry, "abandon"), error: checkLabel(error) });
  }

  /**
   * Requeues abandoned erase entries under the same ids, with their attempts reset, in one transaction. Ids that are
   * unknown or no longer abandoned are skipped. Returns the requeued entries. Throws a `ConfigurationError` if an id is
   * that of a rectification, whose values are gone.
   */
  async requeue(
    ids: Iterable<string>,
    note: RequeueNote = {},
    /** Not for users: runs in the same transaction, if an entry is requeued. */
    record?: (session: Session) => Promise<void>,
  ): Promise<readonly OutboxEntry[]> {
    const audit = this.#sink("A requeue");
    const { database } = this.host;
    const given = [...new Set([...ids].map((id) => checkUuid(id, "An entry's id")))];
    if (given.length === 0) return [];
    database.refuseInside?.();
    return requeue(database, this.#retryLimits, audit, given, note, record);
  }

  /**
   * Confirms abandoned entries by hand: the reason names the evidence that the outside system no longer has the data.
   * The entries count as succeeded, and a request with no other open entry completes. Ids that are unknown or not
   * abandoned are skipped. Returns the resolved entries.
   */
  async resolve(ids: Iterable<string>, note: OperatorNote): Promise<readonly OutboxEntry[]> {
    const sink = this.#sink("A resolve");
    const { database } = this.host;
    const given = [...new Set([...ids].map((id) => checkUuid(id, "An entry's id")))];
    if (given.length === 0) return [];
    database.refuseInside?.();
    const tools = { database, retryLimits: this.#retryLimits, sink, newId: () => this.host.newId() };
    return resolve(tools, given, note);
  }

  /** Lists abandoned entries, oldest first. */
  async listAbandoned(options: PageOptions = {}): Promise<EntryPage> {
    return this.#list(abandonedRows, options);
  }

  /** Lists entries that wait for data to expire, nearest date first. */
  async listScheduled(options: PageOptions = {}): Promise<EntryPage> {
    return this.#list(scheduledRows, options);
  }

  /** The number of entries in each status, 0 included. */
  async statusCounts(): Promise<StatusCounts> {
    return this.#counts.statusCounts();
  }

  async #list(rows: typeof abandonedRows, options: PageOptions): Promise<EntryPage> {
    refuseUnknown(options, ["limit", "after"], "A page of the outbox");
    const limit = checkLimit(options.limit ?? 100);
    const reader = retrying(this.host.database, this.#retryLimits);
    const entries = sourceOf(
      (dialect) => rows(dialect, "erasure"),
      (row) => toEntry(ENTRY.read(row)),
    );
    const { items, next } = await readPage(reader, entries, ENTRY_PLACE, { limit, after: options.after });
    return { entries: items, next };
  }

  /** Wakes runners of this and other processes before their next poll. */
  *#wake(dialect: Dialect): Work<void> {
    const notice = dialect.notify();
    if (notice) yield notice;
    for (const listener of this.#listeners) listener();
  }

  #sink(what: string): AnySink {
    if (this.#audit) return this.#audit;
    throw new ConfigurationError(
      `${what} must leave an event, and this Outbox has no audit sink. Give it one: new Outbox(database, { audit }).`,
    );
  }

  async #settle(item: Settlement): Promise<boolean> {
    return (await this.writer.settle({ ...item, failFast: true })) !== "lost";
  }
}

function byAge(a: OutboxEntry, b: OutboxEntry): number {
  return a.enqueuedAt.getTime() - b.enqueuedAt.getTime() || (a.entryId < b.entryId ? -1 : 1);
}

function pieceOf({ entryId, token }: OutboxEntry, event: Settlement["event"]): Settlement {
  return { entryId, token, event };
}

function instantMs(instant: Date, field: string): number {
  const ms = instant instanceof Date ? instant.getTime() : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new AmendsError("BAD_OPTION", `${field} must be a Date.`);
}

/** A message may contain personal data; a label cannot. */
function checkLabel(label: unknown): string {
  if (typeof label === "string" && /^[A-Za-z0-9][\w.:-]{0,254}$/.test(label)) return label;
  throw new AmendsError(
    "BAD_OPTION",
    "`error` must be a label, such as an error's class name: letters, digits, dots, dashes and underscores, at most 255.",
  );
}
