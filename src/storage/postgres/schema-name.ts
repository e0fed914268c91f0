/** The name of the schema is written into statements as it is, so it must need no quotes. */
import { AmendsError } from "../../core/errors.ts";

const NAME = /^[a-z_][a-z0-9_]{0,39}$/;

/** The words that PostgreSQL reserves: unquoted, they are no names. */
const RESERVED: ReadonlySet<string> = new Set(
  [
    "all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column",
    "concurrently constraint create cross current_catalog current_date current_role current_schema current_time",
    "current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from full",
    "grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit localtime",
    "localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references returning right",
    "select session_user similar some symmetric system_user table tablesample then to trailing true union unique user using",
    "variadic verbose when where window with",
  ].flatMap((line) => line.split(" ")),
);

/** True if the word is a name only between quotes. */
export function isReserved(word: string): boolean {
  return RESERVED.has(word);
}

/** The server's own schemas. */
const SYSTEM = /^(?:pg_|information_schema$)/;

export function checkSchemaName(schema: string): void {
  const refuse = (why: string): never => {
    throw new AmendsError("BAD_OPTION", why, { field: "schema" });
  };
  if (typeof schema !== "string" || !NAME.test(schema))
    refuse("The name of a schema is up to 40 lower-case letters, digits and underscores.");
  if (isReserved(schema))
    refuse(
      `\`schema\` must not be "${schema}", a reserved word of SQL. Choose another name, such as "amends".`,
    );
  if (SYSTEM.test(schema))
    refuse(
      `\`schema\` must not be "${schema}", a schema of the server itself. Choose another name, such as "amends".`,
    );
}
