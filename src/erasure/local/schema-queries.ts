/** The queries on a database's schema: PostgreSQL's catalogs and SQLite's pragmas. */
import { quoted } from "../../core/erasure/schema.ts";
import { flag, int, json, optional, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";

const NAMED = fields<string>({
  name: text((name) => name),
  regname: text((name) => name.split(".").map(quoted).join(".")),
});

export interface PostgresTable {
  readonly name: string;
  readonly oid: string;
  readonly schemaName: string;
  readonly tableName: string;
  readonly kind: string;
}

export const POSTGRES_TABLE: Projection<PostgresTable> = projection({
  name: text("name"),
  oid: text("oid"),
  schemaName: text("schema_name"),
  tableName: text("table_name"),
  kind: text("kind"),
});

/** The mapped tables, found along the search path. */
export function postgresTables(dialect: Dialect, names: readonly string[]): Sql {
  return sql`select r.name, c.oid::text as oid, n.nspname as schema_name, c.relname as table_name, c.relkind::text as kind
    from ${dialect.rows(NAMED, names)}
    join pg_catalog.pg_class c on c.oid = to_regclass(r.regname)
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace`;
}

export interface PostgresColumn {
  readonly oid: string;
  readonly name: string;
  readonly typeName: string;
  readonly typeBytes: number;
  readonly category: string;
  readonly isDomain: boolean;
  readonly isEnum: boolean;
  readonly sqlName: string;
  readonly required: boolean;
  readonly generated: boolean;
  readonly maxLength: number | undefined;
  readonly labels: readonly string[] | undefined;
}

export const POSTGRES_COLUMN: Projection<PostgresColumn> = projection({
  oid: text("oid"),
  name: text("name"),
  typeName: text("type_name"),
  typeBytes: int("type_bytes"),
  category: text("category"),
  isDomain: flag("is_domain"),
  isEnum: flag("is_enum"),
  sqlName: text("sql_name"),
  required: flag("required"),
  generated: flag("generated"),
  maxLength: optional(int("max_length")),
  labels: optional(json("labels")),
});

/** A domain is resolved to its base type. */
export function postgresColumns(dialect: Dialect, oids: readonly string[]): Sql {
  return sql`select a.attrelid::text as oid, a.attname as name, b.typname as type_name, b.typlen as type_bytes,
      b.typcategory::text as category, t.typtype::text = 'd' as is_domain, b.typtype::text = 'e' as is_enum,
      pg_catalog.format_type(a.atttypid, a.atttypmod) as sql_name, a.attnotnull or t.typnotnull as required,
      a.attgenerated::text <> '' as generated,
      case when b.typname in ('varchar', 'bpchar') then greatest(a.atttypmod, t.typtypmod) - 4 end as max_length,
      (select json_agg(e.enumlabel order by e.enumsortorder)::text from pg_catalog.pg_enum e where e.enumtypid = b.oid) as labels
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_type t on t.oid = a.atttypid
    join pg_catalog.pg_type b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
    where ${dialect.among(raw("a.attrelid::text"), oids)} and a.attnum > 0 and not a.attisdropped
    order by a.attrelid, a.attnum`;
}

export interface PostgresForeignKey {
  readonly child: string;
  readonly parent: string;
  readonly onDelete: string;
  readonly childSchema: string;
  readonly childTable: string;
  readonly parentSchema: string;
  readonly parentTable: string;
  readonly columns: readonly string[];
  readonly referred: readonly string[];
  readonly required: boolean | undefined;
}

export const POSTGRES_FOREIGN_KEY: Projection<PostgresForeignKey> = projection({
  child: text("child"),
  parent: text("parent"),
  onDelete: text("on_delete"),
  childSchema: text("child_schema"),
  childTable: text("child_table"),
  parentSchema: text("parent_schema"),
  parentTable: text("parent_table"),
  columns: json("columns"),
  referred: json("referred"),
  required: optional(flag("required")),
});

/** Foreign keys from or to these tables, without the copies that partitions have. */
export function postgresForeignKeys(dialect: Dialect, oids: readonly string[]): Sql {
  const columns = (key: string, relation: string): Sql =>
    raw(`(select json_agg(a.attname order by k.at)::text from unnest(f.${key}) with ordinality as k(num, at)
      join pg_catalog.pg_attribute a on a.attrelid = f.${relation} and a.attnum = k.num)`);
  return sql`select f.conrelid::text as child, f.confrelid::text as parent, f.confdeltype::text as on_delete,
      cn.nspname as child_schema, c.relname as child_table, pn.nspname as parent_schema, p.relname as parent_table,
      ${columns("conkey", "conrelid")} as columns, ${columns("confkey", "confrelid")} as referred,
      (select bool_or(a.attnotnull) from pg_catalog.pg_attribute a where a.attrelid = f.conrelid and a.attnum = any(f.conkey)) as required
    from pg_catalog.pg_constraint f
    join pg_catalog.pg_class c on c.oid = f.conrelid
    join pg_catalog.pg_class p on p.oid = f.confrelid
    join pg_catalog.pg_namespace cn on cn.oid = c.relnamespace
    join pg_catalog.pg_namespace pn on pn.oid = p.relnamespace
    where f.contype = 'f' and f.conparentid = 0
      and (${dialect.among(raw("f.conrelid::text"), oids)} or ${dialect.among(raw("f.confrelid::text"), oids)})
    order by f.conrelid, f.oid`;
}

export interface PostgresUnique {
  readonly oid: string;
  readonly isPrimary: boolean;
  readonly columns: readonly string[] | undefined;
}

export const POSTGRES_UNIQUE: Projection<PostgresUnique> = projection({
  oid: text("oid"),
  isPrimary: flag("is_primary"),
  columns: optional(json("columns")),
});

/** An index over an expression is returned with the columns that the expression depends on. */
export function postgresUniques(dialect: Dialect, oids: readonly string[]): Sql {
  return sql`select i.indrelid::text as oid, i.indisprimary as is_primary,
      (select json_agg(a.attname order by a.attnum)::text from pg_catalog.pg_attribute a
        where a.attrelid = i.indrelid and a.attnum > 0
          and (a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])
            or i.indexprs is not null and exists (select 1 from pg_catalog.pg_depend d
              where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = i.indexrelid
                and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = i.indrelid and d.refobjsubid = a.attnum))) as columns
    from pg_catalog.pg_index i
    where i.indisunique and ${dialect.among(raw("i.indrelid::text"), oids)} order by i.indexrelid`;
}

export interface PostgresCheck {
  readonly oid: string;
  readonly expression: string;
  readonly columns: readonly string[] | undefined;
}

export const POSTGRES_CHECK: Projection<PostgresCheck> = projection({
  oid: text("oid"),
  expression: text("expression"),
  columns: optional(json("columns")),
});

export function postgresChecks(dialect: Dialect, oids: readonly string[]): Sql {
  return sql`select f.conrelid::text as oid, pg_catalog.pg_get_expr(f.conbin, f.conrelid) as expression,
      (select json_agg(a.attname)::text from pg_catalog.pg_attribute a where a.attrelid = f.conrelid and a.attnum = any(f.conkey)) as columns
    from pg_catalog.pg_constraint f
    where f.contype = 'c' and ${dialect.among(raw("f.conrelid::text"), oids)} order by f.oid`;
}

export interface SqliteTable {
  readonly name: string;
  readonly type: string;
  readonly sql: string | undefined;
}

export const SQLITE_TABLE: Projection<SqliteTable> = projection({
  name: text("name"),
  type: text("type"),
  sql: optional(text("sql")),
});

export function sqliteTables(): Sql {
  return raw("select name, type, sql from sqlite_schema where type in ('table', 'view')");
}

export interface SqliteForeignKey {
  readonly child: string;
  readonly id: number;
  readonly parent: string;
  readonly fromColumn: string;
  /** Undefined if the key names no referenced column. */
  readonly toColumn: string | undefined;
  readonly onDelete: string;
}

export const SQLITE_FOREIGN_KEY: Projection<SqliteForeignKey> = projection({
  child: text("child"),
  id: int("id"),
  parent: text("parent"),
  fromColumn: text("from_column"),
  toColumn: optional(text("to_column")),
  onDelete: text("on_delete"),
});

export function sqliteForeignKeys(): Sql {
  return raw(`select m.name as child, f.id, f."table" as parent, f."from" as from_column, f."to" as to_column, f.on_delete
    from sqlite_schema as m join pragma_foreign_key_list(m.name) as f where m.type = 'table'
    order by m.name, f.id, f.seq`);
}

export interface SqliteColumn {
  readonly tableName: string;
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  /** The position in the primary key; 0 if the column is not part of it. */
  readonly keyPlace: number;
  readonly hidden: number;
}

export const SQLITE_COLUMN: Projection<SqliteColumn> = projection({
  tableName: text("table_name"),
  name: text("name"),
  type: text("type"),
  required: flag("required"),
  keyPlace: int("pk"),
  hidden: int("hidden"),
});

export function sqliteColumns(dialect: Dialect, tables: readonly string[]): Sql {
  return sql`select m.name as table_name, p.name, p.type, p."notnull" as required, p.pk, p.hidden
    from sqlite_schema as m join pragma_table_xinfo(m.name) as p
    where m.type in ('table', 'view') and ${dialect.among(raw("m.name"), tables)} order by m.name, p.cid`;
}

export interface SqliteUnique {
  readonly tableName: string;
  readonly indexName: string;
  /** Undefined for an expression. */
  readonly columnName: string | undefined;
  readonly sql: string | undefined;
}

export const SQLITE_UNIQUE: Projection<SqliteUnique> = projection({
  tableName: text("table_name"),
  indexName: text("index_name"),
  columnName: optional(text("column_name")),
  sql: optional(text("sql")),
});

export function sqliteUniques(dialect: Dialect, tables: readonly string[]): Sql {
  return sql`select m.name as table_name, i.name as index_name, x.name as column_name, s.sql
    from sqlite_schema as m join pragma_index_list(m.name) as i join pragma_index_xinfo(i.name) as x
    left join sqlite_schema as s on s.type = 'index' and s.name = i.name
    where m.type = 'table' and i."unique" = 1 and x.key = 1 and ${dialect.among(raw("m.name"), tables)}
    order by m.name, i.seq, x.seqno`;
}

/** Lets the database evaluate the column's constraints for a value, without a row. */
export function passesChecks(column: string, value: Sql, expressions: readonly string[]): Sql {
  const all = expressions.map((expression) => `((${expression}) is not false)`).join(" and ");
  return sql`select 1 as passes from (select ${value} as ${raw(quoted(column))}) as candidate where ${raw(all || "true")}`;
}
