/** SQLite's pragmas as a schema. Names are compared as SQLite does, without regard to case. */
import type { DataMap } from "../../core/erasure/data-map.ts";
import {
  quoted,
  type ForeignKey,
  type LiveSchema,
  type LiveTable,
  type OnDelete,
} from "../../core/erasure/schema.ts";
import { checksIn, mentioned, sqliteType } from "../../core/erasure/sqlite-ddl.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import {
  SQLITE_COLUMN,
  SQLITE_FOREIGN_KEY,
  SQLITE_TABLE,
  SQLITE_UNIQUE,
  sqliteColumns,
  sqliteForeignKeys,
  sqliteTables,
  sqliteUniques,
  type SqliteColumn,
  type SqliteForeignKey,
  type SqliteTable,
  type SqliteUnique,
} from "./schema-queries.ts";

export function* readSqliteSchema(dialect: Dialect, map: DataMap): Work<LiveSchema> {
  const all = (yield sqliteTables()).map((row) => SQLITE_TABLE.read(row));
  const actual = new Map(all.map((table) => [fold(table.name), table]));
  /** Mapped tables by their name in the database. */
  const mapped = new Map(
    map.tables.flatMap(({ name }) => {
      const table = actual.get(fold(name));
      return table ? [[table.name, name] as const] : [];
    }),
  );
  const keys = (yield sqliteForeignKeys()).map((row) => SQLITE_FOREIGN_KEY.read(row));
  const parentOf = ({ parent }: SqliteForeignKey): string => actual.get(fold(parent))?.name ?? parent;
  const relevant = keys.filter((key) => mapped.has(key.child) || mapped.has(parentOf(key)));
  const wanted = new Set([...mapped.keys(), ...relevant.map(({ child }) => child)]);
  const columnRows = yield sqliteColumns(dialect, [...wanted]);
  const columns = columnRows.map((row) => SQLITE_COLUMN.read(row));
  const uniqueRows = yield sqliteUniques(dialect, [...mapped.keys()]);
  const uniques = uniqueRows.map((row) => SQLITE_UNIQUE.read(row));
  const columnsOf = (table: string): readonly SqliteColumn[] =>
    columns.filter(({ tableName }) => tableName === table);
  const tables = [...mapped].map(([table, name]) =>
    toTable(name, actual.get(fold(table)) as SqliteTable, columnsOf(table), uniques),
  );
  const grouped = groupBy(relevant, ({ child, id }) => JSON.stringify([child, id]));
  const foreignKeys = [...grouped.values()].map((parts) =>
    toForeignKey(parts, { mapped, parentOf, columnsOf }),
  );
  return { dialect: "sqlite", tables, foreignKeys };
}

function toTable(
  name: string,
  table: SqliteTable,
  columns: readonly SqliteColumn[],
  uniques: readonly SqliteUnique[],
): LiveTable {
  const names = columns.map((column) => column.name);
  const primaryKey = primaryKeyOf(columns);
  const indexes = groupBy(
    uniques.filter(({ tableName }) => tableName === table.name),
    ({ indexName }) => indexName,
  );
  const indexed = [...indexes.values()].map((parts) =>
    parts.flatMap(({ columnName, sql = "" }) =>
      columnName === undefined ? mentioned(sql, names) : [columnName],
    ),
  );
  return {
    name,
    sqlName: quoted(table.name),
    isTable: table.type === "table",
    columns: columns.map((column) => ({
      name: column.name,
      type: sqliteType(column.type),
      nullable: !column.required,
      // 2 and 3 say that the column is computed; 1 that it belongs to a virtual table.
      generated: column.hidden > 1,
    })),
    primaryKey,
    uniques: primaryKey.length > 0 ? [primaryKey, ...indexed] : indexed,
    checks: checksIn(table.sql ?? "", names),
  };
}

function primaryKeyOf(columns: readonly SqliteColumn[]): readonly string[] {
  return columns
    .filter(({ keyPlace }) => keyPlace > 0)
    .toSorted((a, b) => a.keyPlace - b.keyPlace)
    .map(({ name }) => name);
}

interface Lookups {
  readonly mapped: ReadonlyMap<string, string>;
  readonly parentOf: (key: SqliteForeignKey) => string;
  readonly columnsOf: (table: string) => readonly SqliteColumn[];
}

function toForeignKey(
  parts: readonly SqliteForeignKey[],
  { mapped, parentOf, columnsOf }: Lookups,
): ForeignKey {
  const [first] = parts as readonly [SqliteForeignKey, ...SqliteForeignKey[]];
  const { child } = first;
  const parent = parentOf(first);
  const written = (table: string, column: string): string =>
    columnsOf(table).find(({ name }) => fold(name) === fold(column))?.name ?? column;
  const columns = parts.map(({ fromColumn }) => written(child, fromColumn));
  // A key without referenced columns refers to the primary key.
  const named = parts.flatMap(({ toColumn }) => (toColumn === undefined ? [] : [written(parent, toColumn)]));
  return {
    child: mapped.get(child) ?? child,
    childSqlName: quoted(child),
    columns,
    required: columnsOf(child).some(({ name, required }) => columns.includes(name) && required),
    parent: mapped.get(parent) ?? parent,
    references: named.length === 0 ? primaryKeyOf(columnsOf(parent)) : named,
    onDelete: first.onDelete.toLowerCase() as OnDelete,
  };
}

function groupBy<T>(all: readonly T[], key: (one: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}

function fold(name: string): string {
  return name.toLowerCase();
}
