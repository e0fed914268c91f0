/** Statements are written with a tagged template: values are always parameters, fragments nest. */
import sql, { empty, join, raw, Sql } from "sql-template-tag";

export { empty, join, raw, sql, Sql };

/** A list of names from our own tables, such as states, as SQL text literals. Never for values of users. */
export function literals(names: readonly string[]): Sql {
  return raw(names.map((name) => `'${name.replaceAll("'", "''")}'`).join(", "));
}

/** Column names, which cannot be parameters. */
export function columns(names: readonly string[]): Sql {
  return raw(names.join(", "));
}
