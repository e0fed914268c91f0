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
import type { Row, Session } from "../../storage/database.ts";
import { sqliteColumns, sqliteForeignKeys, sqliteTables, sqliteUniques } from "./schema-queries.ts";

export async function readSqliteSchema(session: Session, map: DataMap): Promise<LiveSchema> {
  const { dialect } = session;
  const all = await session.query(sqliteTables());
  const actual = new Map(all.map((row) => [fold(row["name"]), row]));
  /** Mapped tables by the name that the database gives them. */
  const mapped = new Map(
    map.tables.flatMap(({ name }) => {
      const row = actual.get(fold(name));
      return row ? [[row["name"] as string, name] as const] : [];
    }),
  );
  const keys = await session.query(sqliteForeignKeys());
  const parentOf = (row: Row): string =>
    (actual.get(fold(row["parent"]))?.["name"] ?? row["parent"]) as string;
  const relevant = keys.filter((row) => mapped.has(row["child"] as string) || mapped.has(parentOf(row)));
  const wanted = new Set([...mapped.keys(), ...relevant.map((row) => row["child"] as string)]);
  const columns = await session.query(sqliteColumns(dialect, [...wanted]));
  const uniques = await session.query(sqliteUniques(dialect, [...mapped.keys()]));
  const columnsOf = (table: string): readonly Row[] => columns.filter((row) => row["table_name"] === table);
  const tables = [...mapped].map(([table, name]) =>
    toTable(name, actual.get(fold(table)) as Row, columnsOf(table), uniques),
  );
  const grouped = groupBy(relevant, (row) => JSON.stringify([row["child"], row["id"]]));
  const foreignKeys = [...grouped.values()].map((rows) =>
    toForeignKey(rows, { mapped, parentOf, columnsOf }),
  );
  return { dialect: "sqlite", tables, foreignKeys };
}

function toTable(name: string, row: Row, columns: readonly Row[], uniques: readonly Row[]): LiveTable {
  const names = columns.map((column) => column["name"] as string);
  const primaryKey = primaryKeyOf(columns);
  const indexes = groupBy(
    uniques.filter((one) => one["table_name"] === row["name"]),
    (one) => one["index_name"] as string,
  );
  const indexed = [...indexes.values()].map((parts) =>
    parts.flatMap((part) => {
      const column = part["column_name"] as string | null;
      return column === null ? mentioned(String(part["sql"]), names) : [column];
    }),
  );
  return {
    name,
    sqlName: quoted(row["name"] as string),
    isTable: row["type"] === "table",
    columns: columns.map((column) => ({
      name: column["name"] as string,
      type: sqliteType(column["type"] as string),
      nullable: Number(column["required"]) === 0,
      // 2 and 3 say that the column is computed; 1 that it belongs to a virtual table.
      generated: Number(column["hidden"]) > 1,
    })),
    primaryKey,
    uniques: primaryKey.length > 0 ? [primaryKey, ...indexed] : indexed,
    checks: checksIn((row["sql"] as string | null) ?? "", names),
  };
}

function primaryKeyOf(columns: readonly Row[]): readonly string[] {
  return columns
    .filter((column) => Number(column["pk"]) > 0)
    .toSorted((a, b) => Number(a["pk"]) - Number(b["pk"]))
    .map((column) => column["name"] as string);
}

interface Lookups {
  readonly mapped: ReadonlyMap<string, string>;
  readonly parentOf: (row: Row) => string;
  readonly columnsOf: (table: string) => readonly Row[];
}

function toForeignKey(rows: readonly Row[], { mapped, parentOf, columnsOf }: Lookups): ForeignKey {
  const [first] = rows as readonly [Row, ...Row[]];
  const child = first["child"] as string;
  const parent = parentOf(first);
  const written = (table: string, column: unknown): string =>
    (columnsOf(table).find((one) => fold(one["name"]) === fold(column))?.["name"] ?? column) as string;
  const columns = rows.map((row) => written(child, row["from_column"]));
  // A key that does not say what it refers to means the primary key.
  const references = rows.every((row) => row["to_column"] === null)
    ? primaryKeyOf(columnsOf(parent))
    : rows.map((row) => written(parent, row["to_column"]));
  return {
    child: mapped.get(child) ?? child,
    childSqlName: quoted(child),
    columns,
    required: columnsOf(child).some(
      (one) => columns.includes(one["name"] as string) && Number(one["required"]) === 1,
    ),
    parent: mapped.get(parent) ?? parent,
    references,
    onDelete: String(first["on_delete"]).toLowerCase() as OnDelete,
  };
}

function groupBy(rows: readonly Row[], key: (row: Row) => string): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return groups;
}

function fold(name: unknown): string {
  return String(name).toLowerCase();
}
