/**
 * Fields of rows that are built by position, for the statements that have not been moved to `fields` yet. New code
 * declares its fields with `fields<From>({ … })`.
 */
import type { Field, FieldType } from "./column.ts";
import { Fields } from "./fields.ts";

export interface PositionalColumn {
  readonly name: string;
  readonly type: FieldType;
  readonly default?: string | number | null;
}

type PositionalRow = readonly unknown[];

const known = new WeakMap<readonly PositionalColumn[], Fields<PositionalRow>>();

export function positional(columns: readonly PositionalColumn[]): Fields<PositionalRow> {
  const before = known.get(columns);
  if (before) return before;
  const shape: Record<string, Field<PositionalRow>> = {};
  columns.forEach(({ name, type, default: common }, index) => {
    shape[name] = { type, default: common, value: (row) => row[index] as string | number | null };
  });
  const fields = new Fields<PositionalRow>(shape);
  known.set(columns, fields);
  return fields;
}
