/**
 * Attributes as people write them in a command, an address or a search box: `tenant=acme,tier=2,name="a, b"`. What reads as JSON is a
 * number, a boolean or a quoted text; anything else is a text.
 */
import { AmendsError } from "../errors.ts";
import { readAttributes, type Attributes, type AttributeValue } from "./attributes.ts";

/** A pair, up to a comma that is not in quotes. */
const PAIR = /([^=,]*)=("(?:[^"\\]|\\.)*"|(?!")[^,]*)(,|$)/gy;

/** `where` names what was written in the error: "--attributes". */
export function parseAttributes(text: string, where: string): Attributes {
  const found: [name: string, value: AttributeValue][] = [];
  let end = 0;
  for (const [pair, name = "", value = "", comma] of text.matchAll(PAIR)) {
    found.push([name.trim(), valueOf(value.trim())]);
    end += pair.length;
    if (comma === "") break;
  }
  const isTwice = new Set(found.map(([name]) => name)).size < found.length;
  if (end < text.length || found.length === 0 || text.endsWith(",") || isTwice)
    throw new AmendsError(
      "BAD_OPTION",
      `${where} must be pairs such as tenant=acme,tier=2, each name once. Quote a text that has a comma or looks like a number: tier="2".`,
      { field: "attributes" },
    );
  return readAttributes(Object.fromEntries(found), undefined, where) ?? {};
}

function valueOf(text: string): AttributeValue {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  } catch {
    // A text without quotes.
  }
  return text;
}

/** The same back: what `parseAttributes` reads as these attributes. */
export function attributePairs(attributes: Attributes): readonly string[] {
  return Object.entries(attributes).map(([name, value]) => `${name}=${pairValue(value)}`);
}

function pairValue(value: AttributeValue): string {
  const isPlain = typeof value === "string" && valueOf(value) === value && !/[,"]|^\s|\s$|^$/.test(value);
  return isPlain ? value : JSON.stringify(value);
}
