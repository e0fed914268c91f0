/** Whatever needs a person now, in one list, with what each item allows. */
import { AmendsError } from "../core/errors.ts";
import { listEventAttention, type EventAttention } from "../events/attention.ts";
import type { SagaAction } from "../sagas/operators.ts";
import { allowedActions, skippable } from "../sagas/operators.ts";
import {
  failureOf,
  stallReason,
  undoErrorsOf,
  type SagaFailure,
  type UndoFailure,
} from "../sagas/outcome.ts";
import { listSagas, selectLogs } from "../sagas/queries.ts";
import { toLogEntry, toRecord } from "../sagas/rows.ts";
import type { LogEntry } from "../sagas/journal.ts";
import type { Database, Row } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";

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

export type AttentionItem = StalledSaga | EventAttention;

export interface AttentionPage {
  readonly items: readonly AttentionItem[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

export async function listAttention(
  db: Database,
  limit: number,
  after: string | undefined,
): Promise<AttentionPage> {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new AmendsError("BAD_OPTION", `A page of what needs attention has 1 to ${LIMIT_MAX} items.`);
  }
  const cursor = after === undefined ? undefined : readCursor(after);
  // Each kind is listed by instant and id from the same point on, so the page is the first of all of them together.
  const lists = await Promise.all([listStalled(db, limit, cursor), listEventAttention(db, limit, cursor)]);
  const found = lists.flat().toSorted((a, b) => a.atMs - b.atMs || (a.item.id < b.item.id ? -1 : 1));
  const page = found.slice(0, limit);
  // The instant as the database has it: a Date would cut it off, and the next page would begin with this one's end.
  const last = page.at(-1);
  const next = last && page.length === limit ? JSON.stringify([last.atMs, last.item.id]) : undefined;
  return { items: page.map(({ item }) => item), next };
}

/** An item, and the instant as the database has it. */
interface Listed {
  readonly atMs: number;
  readonly item: AttentionItem;
}

async function listStalled(
  db: Database,
  limit: number,
  cursor: readonly [number, string] | undefined,
): Promise<readonly Listed[]> {
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
  return rows.map((row) => ({
    atMs: Number(row["updated_at"]),
    item: itemOf(row, logs.get(row["id"] as string) ?? []),
  }));
}

const LIMIT_MAX = 1_000;

function readCursor(after: string): readonly [number, string] {
  try {
    const [updatedAtMs, id] = JSON.parse(after) as unknown[];
    if (typeof updatedAtMs === "number" && typeof id === "string") return [updatedAtMs, id];
  } catch {
    // Told below.
  }
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
  } catch {
    const reason =
      "its recorded steps or its log cannot be read: they were changed by hand, or by a newer version";
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
