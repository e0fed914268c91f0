/**
 * Arrays in PostgreSQL's text format: one parameter holds a whole column, in a form that every client can carry. Amends'
 * own connections use the binary format (array.ts).
 */
import type { FieldType } from "../column.ts";

/** Encodes one value of each object. The signature is that of the binary format. */
export function textArrayOf<From>(
  type: FieldType,
  from: readonly From[],
  valueOf: (one: From) => unknown,
): string {
  const elementOf = type === "text" ? textElement : plainElement;
  let elements = "";
  for (const one of from) {
    const value = valueOf(one);
    const element = value === undefined || value === null ? "NULL" : elementOf(value as Value);
    elements += elements === "" ? element : `,${element}`;
  }
  return `{${elements}}`;
}

type Value = string | number | bigint;

/** Numbers and ids have no character with a meaning in an array. */
function plainElement(value: Value): string {
  return value.toString();
}

/** The characters that JSON escapes and an array must not: control characters and lone surrogates. */
const UNLIKE_JSON = /[\p{Cc}\p{Cs}]/u;
const QUOTE_OR_BACKSLASH = /["\\]/g;

/**
 * A text is quoted, so that an empty text, `null` and spaces stay what they are. Arrays and JSON escape quotes and
 * backslashes alike. JSON's encoder is about four times as fast as a replacement, so it encodes what both write alike.
 */
function textElement(value: Value): string {
  const text = value.toString();
  if (!UNLIKE_JSON.test(text)) return JSON.stringify(text);
  return `"${text.replace(QUOTE_OR_BACKSLASH, (character) => `\\${character}`)}"`;
}
