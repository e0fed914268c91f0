/**
 * The masked form of a stored value: its fields and types without values. Keys can contain personal data as well: a key
 * that does not look like a field name is not shown.
 */
import type { Masked, Shape } from "../contract.ts";

const DEPTH_SHOWN = 8;
const ITEMS_SHOWN = 20;
const KEYS_SHOWN = 100;
const NAME = /^[A-Za-z_$][\w$-]{0,63}$/;

export function mask(value: unknown): Masked {
  return { masked: true, shape: shapeOf(value, 0, false) };
}

/** The same with numbers and booleans: they say how far a call has come. */
export function maskTexts(value: unknown): Masked {
  return { masked: true, shape: shapeOf(value, 0, true) };
}

function shapeOf(value: unknown, depth: number, showsNumbers: boolean): Shape {
  if (value === null || value === undefined) return "null";
  switch (typeof value) {
    case "string":
      return "text";
    case "number":
      return showsNumbers ? value : "number";
    case "boolean":
      return showsNumbers ? value : "boolean";
    default:
  }
  if (depth >= DEPTH_SHOWN) return "…";
  if (Array.isArray(value)) {
    const shown = value.slice(0, ITEMS_SHOWN).map((item) => shapeOf(item, depth + 1, showsNumbers));
    return value.length > ITEMS_SHOWN ? [...shown, "…"] : shown;
  }
  const entries = Object.entries(value);
  const shown = entries.slice(0, KEYS_SHOWN).filter(([key]) => NAME.test(key) && key !== "__proto__");
  const fields = shown.map(([key, field]) => [key, shapeOf(field, depth + 1, showsNumbers)] as const);
  const hidden = shown.length < entries.length ? [["…", "…"] as const] : [];
  return Object.fromEntries([...fields, ...hidden]);
}
