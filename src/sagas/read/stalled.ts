/** Stalled sagas: why each stalled, and what a person may do about it. */
import type { SagaStatus } from "../../core/saga/machine.ts";
import { failingStep, type SagaState } from "../../core/saga/state.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import { sourceOf, type Selection, type Source } from "../../storage/read/selection.ts";
import type { LogEntry } from "../journal/journal.ts";
import { selectLogs } from "../journal/queries.ts";
import { ForeignLines, toLogEntry, toRecord } from "../journal/rows.ts";
import { openActions, skippable, type OpenAction } from "../view/operators.ts";
import { failureOf, stallReason, undoErrorsOf, type SagaFailure, type UndoFailure } from "../view/outcome.ts";
import { excludedRows, failingRows, stalledRows } from "./stalled-queries.ts";

export interface StalledSaga {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
  /** Why the saga turned back, where it did. */
  readonly error: SagaFailure | undefined;
  readonly undoErrors: readonly UndoFailure[];
  readonly actions: readonly OpenAction[];
  /** Steps that may be skipped. */
  readonly skippable: readonly string[];
}

export const stalledSagas: Source<StalledSaga> = withLogs(stalledRows, toStalled);

/** A saga that runs, and whose step behind the pivot keeps failing. */
export interface FailingSaga {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
  readonly step: string | undefined;
  readonly attempts: number;
  /** The label of the last error. */
  readonly error: string;
  readonly actions: readonly OpenAction[];
  readonly skippable: readonly string[];
}

export const failingSagas: Source<FailingSaga> = withLogs(failingRows, toFailing);

function withLogs<Of>(
  rows: (dialect: Dialect) => Selection,
  toRecordOf: (row: Row, entries: readonly LogEntry[]) => Of,
): Source<Of> {
  return {
    rows,
    read: async (reader, found) => {
      const ids = found.map(idOf);
      const lines = ids.length === 0 ? [] : await reader.query(selectLogs(reader.dialect, ids));
      const logs = new Map<string, LogEntry[]>(ids.map((id) => [id, []]));
      for (const line of lines) logs.get(line["saga_id"] as string)?.push(toLogEntry(line));
      return found.map((row) => toRecordOf(row, logs.get(idOf(row)) ?? []));
    },
  };
}

function toFailing(row: Row, entries: readonly LogEntry[]): FailingSaga {
  const known = { id: idOf(row), name: row["name"] as string };
  const state = tryState(row, entries);
  const failing = state && failingStep(state);
  const [step, attempts, error] = [
    failing?.name,
    failing?.failures ?? 0,
    failing?.failure.label ?? "UnknownError",
  ];
  const reason = `step ${step ?? "?"} has failed ${attempts} times (${error}) where the saga can only go forward; it is tried again`;
  const [actions, skips] = state ? [openActions(state), skippable(state)] : [[], []];
  return { ...known, reason, step, attempts, error, actions, skippable: skips };
}

function tryState(row: Row, entries: readonly LogEntry[]): SagaState | undefined {
  try {
    return toRecord(row, entries).state;
  } catch {
    return undefined; // its log changed by hand, or was read between two commits
  }
}

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
      actions: openActions(state),
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

/** A saga that no worker claims, because its recovery attempts were set so high. */
export interface ExcludedSaga {
  readonly id: string;
  readonly name: string;
  readonly status: SagaStatus;
  readonly attempts: number;
}

export const excludedSagas: Source<ExcludedSaga> = sourceOf(excludedRows, (row) => ({
  id: idOf(row),
  name: row["name"] as string,
  status: row["status"] as SagaStatus,
  attempts: Number(row["recovery_attempts"]),
}));
