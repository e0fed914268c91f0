/** A rectification as data: which columns of which rows get which value. Retained columns are corrected too. */
import { AmendsError } from "../errors.ts";
import type { Correction } from "../outbox/entry.ts";
import type { Fitted, FittedColumn, FittedTable } from "./fit.ts";
import type { Rows } from "./plan.ts";
import type { Retention } from "./retention.ts";
import type { ColumnType } from "./schema.ts";
import { misfit } from "./value.ts";

export interface Assignment {
  readonly column: string;
  readonly type: ColumnType;
  readonly value: Correction["value"];
  /** Only while this retention lasts. */
  readonly while: Retention | undefined;
}

export interface CorrectRows extends Rows {
  readonly set: readonly Assignment[];
}

/** `retainedOnly`: after an erasure, only retained columns still hold values to correct. */
export function planRectification(
  fitted: Fitted,
  corrections: readonly Correction[],
  retainedOnly: boolean,
): readonly CorrectRows[] {
  return fitted.tables.flatMap((table) => {
    const set = table.columns.flatMap((column) => {
      const correction = corrections.find(({ category }) => category === column.category);
      if (!correction || (retainedOnly && !column.retention)) return [];
      const made = assignment(fitted, table, column, correction);
      return [{ ...made, while: retainedOnly ? column.retention : undefined }];
    });
    const { name, sqlName, reach } = table;
    return set.length === 0 ? [] : [{ table: name, sqlName, reach, set }];
  });
}

/** The value is personal data: no error contains it. */
function assignment(
  { foreignKeys }: Fitted,
  table: FittedTable,
  { name, type, category }: FittedColumn,
  { value }: Correction,
): Omit<Assignment, "while"> {
  const refuse = (why: string): never => {
    throw new AmendsError(
      "BAD_INPUT",
      `The correction of ${category} ${why} (${table.name}.${name}). Nothing was written.`,
      { table: table.name, column: name, category },
    );
  };
  const isKey = foreignKeys.some(
    ({ child, columns, parent, references }) =>
      (child === table.name && columns.includes(name)) ||
      (parent === table.name && references.includes(name)),
  );
  if (isKey) return refuse("concerns a key, which cannot be changed here");
  const why = misfit(value, type);
  return why === undefined ? { column: name, type, value } : refuse(why);
}
