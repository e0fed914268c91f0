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
import type { Row, Session } from "../../storage/database.ts";
import {
  postgresChecks,
  postgresColumns,
  postgresForeignKeys,
  postgresTables,
  postgresUniques,
} from "./schema-queries.ts";

export async function readPostgresSchema(session: Session, map: DataMap): Promise<LiveSchema> {
  const { dialect } = session;
  const names = map.tables.map(({ name }) => [name, name.split(".").map(quoted).join(".")] as const);
  const found = await session.query(postgresTables(dialect, names));
  const byOid = new Map(found.map((row) => [row["oid"] as string, row]));
  const oids = [...byOid.keys()];
  const columns = await session.query(postgresColumns(dialect, oids));
  const keys = await session.query(postgresForeignKeys(dialect, oids));
  const uniques = await session.query(postgresUniques(dialect, oids));
  const checks = await session.query(postgresChecks(dialect, oids));
  const of = (rows: readonly Row[], oid: string): readonly Row[] => rows.filter((row) => row["oid"] === oid);
  const tables = found.map((row) => {
    const oid = row["oid"] as string;
    return {
      name: row["name"] as string,
      sqlName: sqlName(row["schema_name"], row["table_name"]),
      isTable: row["kind"] === "r" || row["kind"] === "p",
      columns: of(columns, oid).map(toColumn),
      primaryKey: of(uniques, oid)
        .filter((one) => one["is_primary"] === true)
        .flatMap((one) => list(one["columns"])),
      uniques: of(uniques, oid).map((one) => list(one["columns"])),
      checks: of(checks, oid).map(toCheck),
    };
  });
  const mapped = (oid: unknown): string | undefined =>
    byOid.get(oid as string)?.["name"] as string | undefined;
  return { dialect: "postgres", tables, foreignKeys: keys.map((row) => toForeignKey(row, mapped)) };
}

function toColumn(row: Row): LiveColumn {
  return {
    name: row["name"] as string,
    type: toType(row),
    nullable: row["required"] !== true,
    generated: row["generated"] === true,
  };
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

function toType(row: Row): ColumnType {
  const name = row["type_name"] as string;
  const isArray = row["category"] === "A";
  const family = row["is_enum"] === true ? "enum" : isArray ? "array" : (FAMILIES[name] ?? "other");
  const maxLength = Number(row["max_length"] ?? 0);
  return {
    family,
    sqlName: row["sql_name"] as string,
    ...(maxLength > 0 && { maxLength }),
    ...(family === "integer" && { bytes: Number(row["type_bytes"]) }),
    ...(family === "enum" && { labels: list(row["labels"]) }),
    ...(name === "timestamptz" && { zoned: true }),
    ...(row["is_domain"] === true && { ruled: true }),
  };
}

function toCheck(row: Row): Check {
  return { columns: list(row["columns"]), expression: row["expression"] as string };
}

const ON_DELETE: Readonly<Record<string, OnDelete>> = {
  a: "no action",
  r: "restrict",
  c: "cascade",
  n: "set null",
  d: "set default",
};

function toForeignKey(row: Row, mapped: (oid: unknown) => string | undefined): ForeignKey {
  return {
    child: mapped(row["child"]) ?? `${row["child_schema"] as string}.${row["child_table"] as string}`,
    childSqlName: sqlName(row["child_schema"], row["child_table"]),
    columns: list(row["columns"]),
    required: row["required"] === true,
    parent: mapped(row["parent"]) ?? `${row["parent_schema"] as string}.${row["parent_table"] as string}`,
    references: list(row["referred"]),
    onDelete: ON_DELETE[row["on_delete"] as string] ?? "no action",
  };
}

function sqlName(schema: unknown, table: unknown): string {
  return `${quoted(schema as string)}.${quoted(table as string)}`;
}

function list(json: unknown): readonly string[] {
  return json === null || json === undefined ? [] : (JSON.parse(json as string) as string[]);
}
