/**
 * Executes a request on the application's tables: guards first, then the plan, statement by statement, in the
 * caller's transaction. The result has numbers, never values.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Fitted } from "../../core/erasure/fit.ts";
import { orphaned, type DeleteRows, type ErasurePlan } from "../../core/erasure/plan.ts";
import { subjectColumn } from "../../core/erasure/reach.ts";
import type { CorrectRows } from "../../core/erasure/rectification.ts";
import { subjectMisfit } from "../../core/erasure/value.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import { ask, askAll } from "./foreign-trouble.ts";
import {
  correctionStatements,
  COUNTED,
  guardStatement,
  leafStatements,
  leftIn,
  leftStatement,
  operationStatements,
  retainedBy,
  retainedStatement,
} from "./plan-queries.ts";

/** The number of rows per table. */
export type RowCounts = Readonly<Record<string, number>>;

/** Personal data that an erasure kept because of a legal retention. */
export interface RetainedData {
  /** The table that holds the data. */
  readonly table: string;
  /** The retained column. */
  readonly column: string;
  /** The number of the subject's rows in which the column is retained. */
  readonly rows: number;
  /** When the retention of the last of these rows ends; undefined if the anchor of a row is empty. */
  readonly until: Date | undefined;
  /** The reason that the policy gives. */
  readonly reason: string;
  /** The law that the policy names. */
  readonly legalBasis: string;
}

export interface Erased {
  readonly deleted: RowCounts;
  readonly anonymized: RowCounts;
  readonly retained: readonly RetainedData[];
  /** When the first retention ends. */
  readonly firstUntilMs: number | undefined;
}

/** The subject's id must fit the columns that are searched for it. */
export function checkSubject({ tables }: Fitted, subjectId: string): void {
  for (const { reach } of tables) {
    const { table, column, type } = subjectColumn(reach);
    const why = subjectMisfit(subjectId, type);
    if (why === undefined) continue;
    throw new AmendsError(
      "BAD_ID",
      `The subject's id does not fit the column ${table}.${column}: it ${why}.`,
      {
        table,
        column,
      },
    );
  }
}

/** Throws if a row that stays refers to a row that would be deleted. Nothing has been written yet. */
export function* checkGuards(dialect: Dialect, plan: ErasurePlan, subjectId: string): Work<void> {
  for (const guard of plan.guards) {
    const found = yield* ask(dialect, guardStatement(dialect, guard, subjectId), guard.child);
    if (found.length > 0) throw orphaned(guard);
  }
}

export function* carryOut(dialect: Dialect, plan: ErasurePlan, subjectId: string): Work<Erased> {
  const counts = { delete: {} as Record<string, number>, anonymize: {} as Record<string, number> };
  for (const operation of plan.operations) {
    const { kind, table } = operation;
    const leaves = kind === "delete" ? yield* deleteLeaves(dialect, operation, subjectId) : 0;
    const rows = yield* askAll(dialect, operationStatements(dialect, operation, subjectId), table);
    counts[kind][table] = leaves + COUNTED.read(rows[0] ?? {}).rows;
  }
  return {
    deleted: counts.delete,
    anonymized: counts.anonymize,
    ...(yield* readRetained(dialect, plan, subjectId)),
  };
}

function* deleteLeaves(dialect: Dialect, operation: DeleteRows, subjectId: string): Work<number> {
  if (operation.among.length === 0) return 0;
  let deleted = 0;
  for (;;) {
    const rows = yield* askAll(dialect, leafStatements(dialect, operation, subjectId), operation.table);
    const found = COUNTED.read(rows[0] ?? {}).rows;
    if (found === 0) return deleted;
    deleted += found;
  }
}

export function* readRetained(
  dialect: Dialect,
  plan: ErasurePlan,
  subjectId: string,
): Work<Pick<Erased, "retained" | "firstUntilMs">> {
  const retained: RetainedData[] = [];
  const firsts: number[] = [];
  for (const rows of plan.retained) {
    const [row = {}] = yield* ask(dialect, retainedStatement(dialect, rows, subjectId), rows.table);
    rows.retentions.forEach(({ column, reason, legalBasis }, index) => {
      const { rows: held, firstUntilMs, lastUntilMs } = retainedBy(index).read(row);
      if (held === 0) return;
      if (firstUntilMs !== undefined) firsts.push(firstUntilMs);
      const until = lastUntilMs === undefined ? undefined : new Date(lastUntilMs);
      retained.push({ table: rows.table, column, rows: held, until, reason, legalBasis });
    });
  }
  return { retained, firstUntilMs: firsts.length > 0 ? Math.min(...firsts) : undefined };
}

export function* correct(dialect: Dialect, plan: readonly CorrectRows[], subjectId: string): Work<RowCounts> {
  const corrected: Record<string, number> = {};
  for (const rows of plan) {
    const answer = yield* askAll(dialect, correctionStatements(dialect, rows, subjectId), rows.table);
    corrected[rows.table] = COUNTED.read(answer[0] ?? {}).rows;
  }
  return corrected;
}

/** Personal data that an erasure would remove or overwrite now. */
export interface LeftData {
  /** The table that holds the data. */
  readonly table: string;
  /** The column that would be overwritten; undefined if the whole row would be deleted. */
  readonly column: string | undefined;
  /** The number of rows. */
  readonly rows: number;
}

export function* readLeft(dialect: Dialect, plan: ErasurePlan, subjectId: string): Work<readonly LeftData[]> {
  const left: LeftData[] = [];
  for (const operation of plan.operations) {
    const { table } = operation;
    const [row = {}] = yield* ask(dialect, leftStatement(dialect, operation, subjectId), table);
    const counts =
      operation.kind === "delete"
        ? [{ column: undefined, ...COUNTED.read(row) }]
        : operation.set.map(({ column }, index) => ({ column, ...leftIn(index).read(row) }));
    left.push(...counts.filter(({ rows }) => rows > 0).map((count) => ({ table, ...count })));
  }
  return left;
}
