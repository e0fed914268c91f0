/**
 * Arrays in PostgreSQL's text format: one parameter holds a whole column, in a form that every client can carry. Amends'
 * own connections use the binary format (array.ts).
 */
import type { FieldType } from "../column.ts";

/** Encodes one value of each object. The signature is that of the binary format. */
export function textArrayOf<From>(
  _type: FieldType,
  from: readonly From[],
  valueOf: (one: From) => unknown,
): string {
  return `{${from.map((one) => elementOf(valueOf(one))).join(",")}}`;
}

/** Every element is quoted, so that an empty text, `null` and spaces stay what they are. */
function elementOf(value: unknown): string {
  if (value === undefined || value === null) return "NULL";
  const text = (value as string | number | bigint).toString();
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
