/**
 * Statements for a caller's transaction. Clients guess the type of a parameter from its JavaScript type or from the
 * server's description, and they guess differently: a Buffer becomes bytea, a text for json is encoded twice. So every
 * parameter is a text that the server declares as text and casts to the type that the statement names.
 */
import type { Sql } from "../sql.ts";
import type { CarriedStatement } from "./joins.ts";

export function carried(statement: Sql): CarriedStatement {
  // `$1::uuid` becomes `$1::text::uuid`. A parameter without a cast keeps the type that the server infers.
  const strings = statement.strings.map((part) => (part.startsWith("::") ? `::text${part}` : part));
  const text = strings.map((part, index) => (index === 0 ? part : `$${index}${part}`)).join("");
  return { text, strings, values: statement.values.map(textOf) };
}

/** A statement for a client of Amends' own driver: its parameters are what that driver takes, such as arrays in binary format. */
export function asItIs({ text, strings, values }: Sql): CarriedStatement {
  return { text, strings, values: values as CarriedStatement["values"] };
}

/** The text with one `?` for each parameter, for clients that count them. A question mark of its own is escaped. */
export function marked({ strings }: CarriedStatement): string {
  return strings.map((part) => part.replaceAll("?", String.raw`\?`)).join("?");
}

function textOf(value: unknown): string | null {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
    default:
      if (value === null || value === undefined) return null;
      throw new TypeError("amends: a statement in a caller's transaction has a parameter that is not a text");
  }
}
