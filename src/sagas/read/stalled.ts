/** Stalled sagas: why each stalled, and what a person may do about it. */
import type { Row } from "../../storage/database.ts";
import type { Source } from "../../storage/read/selection.ts";
import type { LogEntry } from "../journal/journal.ts";
import { selectLogs } from "../journal/queries.ts";
import { ForeignLines, toLogEntry, toRecord } from "../journal/rows.ts";
import { allowedActions, skippable, type SagaAction } from "../view/operators.ts";
import { failureOf, stallReason, undoErrorsOf, type SagaFailure, type UndoFailure } from "../view/outcome.ts";
import { stalledRows } from "./stalled-queries.ts";

export interface StalledSaga {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
  /** Why the saga turned back, where it did. */
  readonly error: SagaFailure | undefined;
  readonly undoErrors: readonly UndoFailure[];
  readonly actions: readonly SagaAction[];
  /** Steps that may be skipped. */
  readonly skippable: readonly string[];
}

export const stalledSagas: Source<StalledSaga> = {
  rows: stalledRows,
  read: async (reader, rows) => {
    const ids = rows.map(idOf);
    const lines = ids.length === 0 ? [] : await reader.query(selectLogs(reader.dialect, ids));
    const logs = new Map<string, LogEntry[]>(ids.map((id) => [id, []]));
    for (const line of lines) logs.get(line["saga_id"] as string)?.push(toLogEntry(line));
    return rows.map((row) => toStalled(row, logs.get(idOf(row)) ?? []));
  },
};

function idOf(row: Row): string {
  return row["id"] as string;
}

/** A saga that cannot be read is listed all the same: a person must look at it. */
function toStalled(row: Row, entries: readonly LogEntry[]): StalledSaga {
  const known = { id: idOf(row), name: row["name"] as string };
  try {
    const { state } = toRecord(row, entries);
    return {
      ...known,
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
    return { ...known, reason, error: undefined, undoErrors: [], actions: [], skippable: [] };
  }
}
