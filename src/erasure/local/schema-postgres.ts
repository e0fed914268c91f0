/** PostgreSQL's catalogs as a schema. */
import type { DataMap } from "../../core/erasure/data-map.ts";
import {
  quoted,
  type Check,
  type ColumnType,
  type Family,
  type ForeignKey,
  type LiveColumn,
  type LiveSchema,
  type OnDelete,
} from "../../core/erasure/schema.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import {
  POSTGRES_CHECK,
  POSTGRES_COLUMN,
  POSTGRES_FOREIGN_KEY,
  POSTGRES_TABLE,
  POSTGRES_UNIQUE,
  postgresChecks,
  postgresColumns,
  postgresForeignKeys,
  postgresTables,
  postgresUniques,
  type PostgresColumn,
  type PostgresForeignKey,
} from "./schema-queries.ts";

export function* readPostgresSchema(dialect: Dialect, map: DataMap): Work<LiveSchema> {
  const names = map.tables.map(({ name }) => name);
  const found = (yield postgresTables(dialect, names)).map((row) => POSTGRES_TABLE.read(row));
  const byOid = new Map(found.map((table) => [table.oid, table]));
  const oids = [...byOid.keys()];
  const columnRows = yield postgresColumns(dialect, oids);
  const columns = columnRows.map((row) => POSTGRES_COLUMN.read(row));
  const keyRows = yield postgresForeignKeys(dialect, oids);
  const keys = keyRows.map((row) => POSTGRES_FOREIGN_KEY.read(row));
  const uniqueRows = yield postgresUniques(dialect, oids);
  const uniques = uniqueRows.map((row) => POSTGRES_UNIQUE.read(row));
  const checkRows = yield postgresChecks(dialect, oids);
  const checks = checkRows.map((row) => POSTGRES_CHECK.read(row));
  const tables = found.map(({ oid, name, schemaName, tableName, kind }) => {
    const own = uniques.filter((one) => one.oid === oid);
    return {
      name,
      sqlName: sqlName(schemaName, tableName),
      isTable: kind === "r" || kind === "p",
      columns: columns.filter((one) => one.oid === oid).map(toColumn),
      primaryKey: own.filter((one) => one.isPrimary).flatMap((one) => one.columns ?? []),
      uniques: own.map((one) => one.columns ?? []),
      checks: checks
        .filter((one) => one.oid === oid)
        .map(({ columns: named = [], expression }): Check => ({ columns: named, expression })),
    };
  });
  const mapped = (oid: string): string | undefined => byOid.get(oid)?.name;
  return { dialect: "postgres", tables, foreignKeys: keys.map((key) => toForeignKey(key, mapped)) };
}

function toColumn(column: PostgresColumn): LiveColumn {
  const { name, required, generated } = column;
  return { name, type: toType(column), nullable: !required, generated };
}

const FAMILIES: Readonly<Record<string, Family>> = {
  text: "text",
  varchar: "text",
  bpchar: "text",
  citext: "text",
  int2: "integer",
  int4: "integer",
  int8: "integer",
  numeric: "decimal",
  float4: "decimal",
  float8: "decimal",
  bool: "boolean",
  date: "date",
  timestamp: "timestamp",
  timestamptz: "timestamp",
  time: "time",
  timetz: "time",
  interval: "interval",
  uuid: "uuid",
  bytea: "bytes",
  json: "json",
  jsonb: "json",
  inet: "network",
  cidr: "network",
};

function toType(column: PostgresColumn): ColumnType {
  const { typeName, category, isEnum, isDomain, typeBytes, maxLength = 0, labels = [] } = column;
  const family = isEnum ? "enum" : category === "A" ? "array" : (FAMILIES[typeName] ?? "other");
  return {
    family,
    sqlName: column.sqlName,
    ...(maxLength > 0 && { maxLength }),
    ...(family === "integer" && { bytes: typeBytes }),
    ...(family === "enum" && { labels }),
    ...(typeName === "timestamptz" && { zoned: true }),
    ...(isDomain && { ruled: true }),
  };
}

const ON_DELETE: Readonly<Record<string, OnDelete>> = {
  a: "no action",
  r: "restrict",
  c: "cascade",
  n: "set null",
  d: "set default",
};

function toForeignKey(key: PostgresForeignKey, mapped: (oid: string) => string | undefined): ForeignKey {
  const { childSchema, childTable, parentSchema, parentTable, columns, referred, required } = key;
  return {
    child: mapped(key.child) ?? `${childSchema}.${childTable}`,
    childSqlName: sqlName(childSchema, childTable),
    columns,
    required: required === true,
    parent: mapped(key.parent) ?? `${parentSchema}.${parentTable}`,
    references: referred,
    onDelete: ON_DELETE[key.onDelete] ?? "no action",
  };
}

function sqlName(schema: string, table: string): string {
  return `${quoted(schema)}.${quoted(table)}`;
}
