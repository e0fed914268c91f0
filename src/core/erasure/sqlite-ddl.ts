/**
 * SQLite exposes CHECK constraints and indexed expressions only as the text of their DDL. This parser extracts what
 * an erasure needs; when in doubt it reports too many columns, never too few.
 */
import type { Check, ColumnType, Family } from "./schema.ts";

/** CHECK constraints in a CREATE TABLE statement, with the columns that each mentions. */
export function checksIn(ddl: string, columns: readonly string[]): readonly Check[] {
  const plain = withoutComments(ddl);
  const found: Check[] = [];
  for (const match of masked(plain).matchAll(/\bcheck\s*\(/gi)) {
    const open = match.index + match[0].length - 1;
    const close = closing(masked(plain), open);
    const expression = plain.slice(open + 1, close);
    found.push({ columns: mentioned(expression, columns), expression });
  }
  return found;
}

/** The columns that a piece of SQL names outside of string literals. */
export function mentioned(text: string, columns: readonly string[]): readonly string[] {
  const bare = withoutComments(text)
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .toLowerCase();
  return columns.filter((column) => {
    const name = column.toLowerCase().replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(`(?<![\\w$])${name}(?![\\w$])`).test(bare);
  });
}

function withoutComments(text: string): string {
  return text.replaceAll(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
    part.startsWith("'") ? part : " ",
  );
}

/** The text with quoted parts blanked; its length stays the same. */
function masked(text: string): string {
  return text.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]/g, (part) =>
    "_".repeat(part.length),
  );
}

function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === "(") depth++;
    else if (text[at] === ")" && --depth === 0) return at;
  }
  return text.length;
}

const FAMILIES: readonly (readonly [RegExp, Family, loose?: boolean])[] = [
  [/BOOL/, "boolean"],
  [/^(?!.*POINT).*INT/, "integer"],
  [/UUID|GUID/, "uuid"],
  [/JSON/, "json"],
  [/CHAR|CLOB|TEXT|STRING/, "text"],
  [/BLOB|BINARY|BYTEA/, "bytes"],
  [/DATE.*TIME|TIMESTAMP/, "timestamp", true],
  [/DATE/, "date", true],
  [/TIME/, "time", true],
  [/REAL|FLOA|DOUB|NUMERIC|DEC|MONEY/, "decimal"],
];

/** The family of a declared type. A column without a type, or with ANY, holds values of any type. */
export function sqliteType(declared: string): ColumnType {
  const upper = declared.toUpperCase();
  const found = FAMILIES.find(([pattern]) => pattern.test(upper));
  if (!found)
    return {
      family: upper === "" || upper === "ANY" ? "text" : "other",
      sqlName: declared,
      loose: upper === "" || upper === "ANY",
    };
  const [, family, loose = false] = found;
  const length = family === "text" ? /\((\d+)\)/.exec(upper)?.[1] : undefined;
  return {
    family,
    sqlName: declared,
    ...(length !== undefined && { maxLength: Number(length) }),
    ...(loose && { loose }),
  };
}
