/**
 * Arrays as text: one parameter holds a whole column, in a form that every client can carry. Texts are an array in
 * PostgreSQL's own text format. Numbers and ids are a list with commas, which the server reads in half the time. Amends'
 * own connections use the binary format (array.ts).
 */
import type { ArrayFormat } from "./rows.ts";

export const TEXT_ARRAYS: ArrayFormat = {
  encode: (type, from, valueOf) =>
    type === "text" ? `{${listOf(from, valueOf, quoted)}}` : listOf(from, valueOf, unquoted),
  around: (type) =>
    type === "text" ? ["", "::text[]"] : ["string_to_array(", `::text, ',', '${NULL}')::${type}[]`],
  nulls: {
    isIn: (encoded) => (encoded as string).startsWith("{") && (encoded as string).includes(`${NULL},`),
    around: (type) => (type === "text" ? ["array_replace(", NULLS_READ] : TEXT_ARRAYS.around(type)),
  },
};

/** The server reads it in any case as a null, and few texts are written like it. */
const NULL = "nULL";

/** In a session with `array_nulls` off, a null is read as a text: it becomes a null again. */
const NULLS_READ = `::text[], case current_setting('array_nulls') when 'off' then '${NULL}' end, null)`;

function listOf<From>(
  from: readonly From[],
  valueOf: (one: From) => unknown,
  elementOf: (value: Value) => string,
): string {
  let elements = "";
  let nulls = "";
  for (const one of from) {
    const value = valueOf(one);
    if (value === undefined || value === null) nulls += `${NULL},`;
    else {
      elements += `${nulls}${elementOf(value as Value)},`;
      nulls = "";
    }
  }
  return elements.slice(0, -1);
}

/** A comma inside would make two elements of one, and move the values of the following rows. */
function unquoted(value: Value): string {
  const text = String(value);
  if (text.includes(",")) throw new TypeError("amends: an id or a number must not contain a comma");
  return text;
}

type Value = string | number | bigint;

/** The characters that JSON escapes and an array must not: control characters and lone surrogates. */
const UNLIKE_JSON = /[\p{Cc}\p{Cs}]/u;
const QUOTE_OR_BACKSLASH = /["\\]/g;

/**
 * A text is quoted, so that an empty text, `null` and spaces stay what they are. Arrays and JSON escape quotes and
 * backslashes alike. JSON's encoder is about four times as fast as a replacement, so it encodes what both write alike.
 */
function quoted(value: Value): string {
  const text = String(value);
  if (!UNLIKE_JSON.test(text)) return JSON.stringify(text);
  return `"${text.replace(QUOTE_OR_BACKSLASH, (character) => `\\${character}`)}"`;
}
