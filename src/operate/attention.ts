/** Whatever needs a person now, in one list, with what each item allows. */
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import {
  listAbandonedItems,
  listOverdueItems,
  type AbandonedItem,
  type OverdueItem,
} from "../erasure/attention.ts";
import { listEventAttention, type EventAttention } from "../events/attention.ts";
import { listAbandonedCalls, type AbandonedCallItem } from "../outbox/attention.ts";
import type { SagaAction } from "../sagas/view/operators.ts";
import { allowedActions, skippable } from "../sagas/view/operators.ts";
import {
  failureOf,
  stallReason,
  undoErrorsOf,
  type SagaFailure,
  type UndoFailure,
} from "../sagas/view/outcome.ts";
import { listSagas, selectLogs } from "../sagas/journal/queries.ts";
import { ForeignLines, toLogEntry, toRecord } from "../sagas/journal/rows.ts";
import type { LogEntry } from "../sagas/journal/journal.ts";
import type { Database, Row } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import {
  listDeadLetterItems,
  listDisabledItems,
  type DeadLetterItem,
  type DisabledItem,
} from "../webhooks/attention.ts";

export interface StalledSaga {
  readonly kind: "stalled-saga";
  readonly id: string;
  readonly saga: string;
  readonly since: Date;
  readonly reason: string;
  /** Why the saga turned back, where it did. */
  readonly error: SagaFailure | undefined;
  readonly undoErrors: readonly UndoFailure[];
  readonly actions: readonly SagaAction[];
  /** Steps that may be skipped. */
  readonly skippable: readonly string[];
}

export type AttentionItem =
  | StalledSaga
  | EventAttention
  | AbandonedItem
  | AbandonedCallItem
  | OverdueItem
  | DeadLetterItem
  | DisabledItem;

export interface AttentionPage {
  readonly items: readonly AttentionItem[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

type Kind = AttentionItem["kind"];

/** One source of items after the other; within a source the item that waits longest comes first. */
interface Source {
  readonly kinds: readonly Kind[];
  list(
    db: Database,
    limit: number,
    after: string | undefined,
    kind: Kind | undefined,
  ): Promise<AttentionPage>;
}

const SOURCES: readonly Source[] = [
  { kinds: ["stalled-saga"], list: listStalled },
  { kinds: ["stalled-flow", "given-up-event"], list: listEventItems },
  { kinds: ["abandoned-entry"], list: listAbandonedItems },
  { kinds: ["abandoned-call"], list: listAbandonedCalls },
  { kinds: ["overdue-erasure"], list: listOverdueItems },
  { kinds: ["dead-letter"], list: listDeadLetterItems },
  { kinds: ["disabled-subscription"], list: listDisabledItems },
];

/** Which items a list of `amends.attention` holds. */
export interface AttentionOptions {
  /** Items of one kind only. Default: all kinds. */
  readonly kind?: Kind;
  /** The number of items of one page, 1 to 1000. Default: 100. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

/** The cursor names the source, and where in it the page ended. */
export async function listAttention(db: Database, options: AttentionOptions): Promise<AttentionPage> {
  refuseUnknown(options, ["kind", "limit", "after"], "attention.list");
  const { kind, limit = 100, after } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new AmendsError("BAD_OPTION", `A page of what needs attention has 1 to ${LIMIT_MAX} items.`);
  }
  const known = SOURCES.flatMap(({ kinds }) => kinds);
  if (kind !== undefined && !known.includes(kind)) {
    const names = known.join(", ");
    throw new AmendsError("BAD_OPTION", `There is no attention item of kind ${kind}. There are: ${names}.`);
  }
  const [first, inside] = after === undefined ? [0, undefined] : readCursor(after);
  const items: AttentionItem[] = [];
  for (let at = first, cursor = inside; at < SOURCES.length; at++, cursor = undefined) {
    const source = SOURCES[at] as Source;
    if (kind !== undefined && !source.kinds.includes(kind)) continue;
    if (items.length === limit) return { items, next: JSON.stringify([at]) };
    const page = await source.list(db, limit - items.length, cursor, kind);
    items.push(...page.items);
    if (page.next !== undefined) return { items, next: JSON.stringify([at, page.next]) };
  }
  return { items, next: undefined };
}

async function listEventItems(
  db: Database,
  limit: number,
  after: string | undefined,
  kind: Kind | undefined,
): Promise<AttentionPage> {
  const cursor = after === undefined ? undefined : readInstant(after);
  const listed = await listEventAttention(db, limit, cursor, kind);
  const page = listed.toSorted((a, b) => a.atMs - b.atMs || (a.item.id < b.item.id ? -1 : 1)).slice(0, limit);
  // The instant as the database has it: a Date would cut it off, and the next page would begin with this one's end.
  const last = page.at(-1);
  const next = last && page.length === limit ? JSON.stringify([last.atMs, last.item.id]) : undefined;
  return { items: page.map(({ item }) => item), next };
}

async function listStalled(
  db: Database,
  limit: number,
  after: string | undefined,
): Promise<{ readonly items: readonly StalledSaga[]; readonly next: string | undefined }> {
  const cursor = after === undefined ? undefined : readInstant(after);
  const { dialect } = db;
  const rows = await persist(db, () =>
    db.query(
      listSagas(dialect, {
        status: "STALLED",
        limit,
        after: cursor && { updatedAtMs: cursor[0], id: cursor[1] },
      }),
    ),
  );
  const ids = rows.map((row) => row["id"] as string);
  const lines = ids.length === 0 ? [] : await persist(db, () => db.query(selectLogs(dialect, ids)));
  const logs = new Map<string, LogEntry[]>(ids.map((id) => [id, []]));
  for (const line of lines) logs.get(line["saga_id"] as string)?.push(toLogEntry(line));
  const items = rows.map((row) => itemOf(row, logs.get(row["id"] as string) ?? []));
  const last = rows.at(-1);
  const next =
    last && rows.length === limit ? JSON.stringify([Number(last["updated_at"]), last["id"]]) : undefined;
  return { items, next };
}

const LIMIT_MAX = 1_000;

function readCursor(after: string): readonly [source: number, inside: string | undefined] {
  try {
    const [source, inside] = JSON.parse(after) as unknown[];
    const isSource = typeof source === "number" && source in SOURCES;
    if (isSource && (inside === undefined || typeof inside === "string")) return [source, inside];
  } catch {
    // Told below.
  }
  return refuseCursor();
}

function readInstant(after: string): readonly [number, string] {
  try {
    const [updatedAtMs, id] = JSON.parse(after) as unknown[];
    if (typeof updatedAtMs === "number" && typeof id === "string") return [updatedAtMs, id];
  } catch {
    // Told below.
  }
  return refuseCursor();
}

function refuseCursor(): never {
  throw new AmendsError("BAD_OPTION", "`after` must be the `next` of the page before.");
}

function itemOf(row: Row, entries: readonly LogEntry[]): StalledSaga {
  const id = row["id"] as string;
  const saga = row["name"] as string;
  const since = new Date(Number(row["updated_at"]));
  try {
    const { state } = toRecord(row, entries);
    return {
      kind: "stalled-saga",
      id,
      saga,
      since,
      reason: stallReason(state),
      error: failureOf(state.failure),
      undoErrors: undoErrorsOf(state),
      actions: allowedActions(state),
      skippable: skippable(state),
    };
  } catch (error) {
    const reason =
      error instanceof ForeignLines
        ? "its log has lines from before it was created: the database lost an earlier saga with this id"
        : "its recorded steps or its log cannot be read: they were changed by hand, or by a newer version";
    return {
      kind: "stalled-saga",
      id,
      saga,
      since,
      reason,
      error: undefined,
      undoErrors: [],
      actions: [],
      skippable: [],
    };
  }
}
