/**
 * Rows of one table under one condition, in the order of an index: the common part of a list and a count. The owner
 * of the table writes the selection; lists, pages and bounded counts are derived from it.
 */
import type { Cursor, Page } from "../../core/cursor.ts";
import type { Dialect, Row } from "../database.ts";
import type { Reader } from "./reader.ts";
import { empty, join, sql, type Sql } from "../sql.ts";

export interface Selection {
  /** The table with its alias. */
  readonly from: Sql;
  readonly where: Sql;
  /** The instant by which the rows are ordered, and the id for rows of one instant. */
  readonly at: Sql;
  readonly id: Sql;
  /** The select list of a row and its joins. A count needs neither. */
  readonly columns: Sql;
  readonly join?: Sql;
}

/** A selection and the mapper of its rows. */
export interface Source<Record> {
  rows(dialect: Dialect): Selection;
  /** One record for each row, in the same order. */
  read(reader: Reader, rows: readonly Row[]): Promise<readonly Record[]>;
}

/** A source whose rows need nothing but a mapper. */
export function sourceOf<Record>(
  rows: (dialect: Dialect) => Selection,
  toRecord: (row: Row) => Record,
): Source<Record> {
  return { rows, read: async (_reader, found) => found.map(toRecord) };
}

/** A record with its place in the order. */
export interface Placed<Record> {
  /** The database's instant, with its fraction of a millisecond. */
  readonly atMs: number;
  readonly id: string;
  readonly record: Record;
}

/** The start of a list: after a row, or at an instant with or without the rows of that instant. */
export type Start =
  | { readonly atMs: number; readonly id: string }
  | { readonly atMs: number; readonly id?: undefined; readonly inclusive: boolean };

/** The first `limit` rows, oldest first. */
export function listOldest(dialect: Dialect, selection: Selection, limit: number, start?: Start): Sql {
  const { from, where, at, id, columns, join: joined = empty } = selection;
  return sql`select ${columns}, ${dialect.epochMs(at)} as placed_at, ${id} as placed_id from ${from} ${joined}
    where ${where} ${start ? sql`and ${begins(dialect, selection, start)}` : empty}
    order by ${at}, ${id} limit ${limit}`;
}

function begins(dialect: Dialect, { at, id }: Selection, start: Start): Sql {
  const instant = dialect.instantOf(start.atMs);
  if (start.id !== undefined) return sql`(${at}, ${id}) > (${instant}, ${start.id})`;
  return start.inclusive ? sql`${at} >= ${instant}` : sql`${at} > ${instant}`;
}

/** An expression for the number of rows, each selection counted up to `max`. */
export function countRows(selections: readonly Selection[], max: number): Sql {
  const counts = selections.map(
    ({ from, where }) =>
      sql`(select count(*) from (select 1 from ${from} where ${where} limit ${max}) as counted)`,
  );
  return join(counts, " + ");
}

export async function readOldest<Record>(
  reader: Reader,
  source: Source<Record>,
  limit: number,
  start?: Start,
): Promise<readonly Placed<Record>[]> {
  const { dialect } = reader;
  const rows = await reader.query(listOldest(dialect, source.rows(dialect), limit, start));
  const records = await source.read(reader, rows);
  return rows.map((row, index) => ({
    atMs: Number(row["placed_at"]),
    id: String(row["placed_id"]),
    record: records[index] as Record,
  }));
}

/** One page of a source, by the place of its last row. */
export async function readPage<Record>(
  reader: Reader,
  source: Source<Record>,
  place: Cursor<[atMs: number, id: string]>,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<Page<Record>> {
  const start = place.decode(after);
  const found = await readOldest(reader, source, limit, start && { atMs: start[0], id: start[1] });
  const last = found.length === limit ? found.at(-1) : undefined;
  return { items: found.map(({ record }) => record), next: last && place.encode(last.atMs, last.id) };
}
