/** Rights on Amends' tables: those of a role, and the query that finds those that a login lacks. */
import { text } from "../../column.ts";
import type { Dialect } from "../../database.ts";
import { fields } from "../../fields.ts";
import { sql, type Sql } from "../../sql.ts";
import { projection, type Projection } from "../../table.ts";

/** On all columns of a table, or on some. */
export type Rights = Readonly<
  Partial<Record<"select" | "insert" | "update", true | readonly string[]> & { delete: true }>
>;

/** Rights by table. */
export type Grants = Readonly<Record<string, Rights>>;

export interface Role {
  /** The role's name without the schema's prefix. */
  readonly name: string;
  readonly grants: Grants;
}

export function schemaOf(dialect: Dialect): string {
  return dialect.table("").text.replace(".", "");
}

/** The name of a role that Amends makes: it belongs to the whole server, so the schema is part of its name. */
export function roleName(dialect: Dialect, { name }: Role): string {
  return `${schemaOf(dialect)}_${name}`;
}

/** The combined rights of several roles. */
export function together(...all: readonly Grants[]): Grants {
  const sum: Record<string, Record<string, true | readonly string[]>> = {};
  for (const grants of all)
    for (const [table, rights] of Object.entries(grants)) {
      const known = (sum[table] ??= {});
      for (const [right, columns] of Object.entries(rights)) {
        const before = known[right] ?? [];
        known[right] = before === true || columns === true ? true : [...new Set([...before, ...columns])];
      }
    }
  return sum;
}

/** `select, insert (a, b)` */
export function textOf(rights: Rights): string {
  return Object.entries(rights)
    .map(([right, columns]) => (columns === true ? right : `${right} (${columns.join(", ")})`))
    .join(", ");
}

/** A right that a login lacks. */
export interface MissingRight {
  readonly login: string;
  readonly table: string;
  readonly right: string;
  /** Empty: all columns. */
  readonly column: string;
}

/** `delete on amends.saga_interests, …` */
export function listRights(missing: readonly MissingRight[]): string {
  return [...new Set(missing.map(({ right, table }) => `${right} on ${table}`))].join(", ");
}

interface Needed {
  readonly table: string;
  readonly right: string;
  /** Undefined: all columns. */
  readonly column: string | undefined;
}

const NEEDED = fields<Needed>({
  relation: text((one) => one.table),
  rights: text((one) => one.right),
  col: text((one) => one.column),
});

export const MISSING: Projection<MissingRight> = projection({
  login: text("login"),
  table: text("relation"),
  right: text("rights"),
  column: text("col"),
});

export function selectMissing(dialect: Dialect, grants: Grants): Sql {
  const needed = Object.entries(grants).flatMap(([name, rights]) =>
    Object.entries(rights).flatMap(([right, columns]): Needed[] => {
      const table = dialect.table(name).text;
      return columns === true
        ? [{ table, right, column: undefined }]
        : columns.map((column) => ({ table, right, column }));
    }),
  );
  return sql`select current_user::text as login, r.relation, r.rights, coalesce(r.col, '') as col
    from ${dialect.rows(NEEDED, needed)}
    where not case when r.col is null then has_table_privilege(r.relation, r.rights)
      else has_column_privilege(r.relation, r.col, r.rights) end`;
}
