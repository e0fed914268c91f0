/**
 * The surrogate of an erased value in a row that stays: a value that the column's type allows, never null. For
 * unique columns it is a mark followed by random characters; the mark lets a later read distinguish it from a real
 * value.
 */
import type { SurrogateValue } from "./data-map.ts";
import type { ColumnType, Family } from "./schema.ts";
import { misfit } from "./value.ts";

export type Surrogate =
  | { readonly kind: "value"; readonly value: SurrogateValue }
  /** Has the type of the value that it replaces, because the column has no fixed type. */
  | { readonly kind: "loose"; readonly text: string }
  | { readonly kind: "distinct"; readonly form: "uuid" | "integer" | "bytes" }
  /** `mark` followed by this many random characters. */
  | { readonly kind: "distinct"; readonly form: "text"; readonly mark: string; readonly random: number };

export interface SurrogateNeed {
  readonly type: ColumnType;
  readonly isUnique: boolean;
  readonly declared: SurrogateValue | undefined;
  /** The column's CHECK constraints; undefined if it has none. */
  readonly checked: Checked | undefined;
}

/** A value that passes all CHECK constraints of the column, or the fact that none was found. */
export interface Checked {
  readonly passes: SurrogateValue | undefined;
}

const WORD = "erased";
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";
export const EPOCH_DAY = "1970-01-01";
/** The first half of every surrogate UUID. */
export const UUID_MARK = "e5a5ed00-0000-8000-8";

const PLAIN: Readonly<Record<Exclude<Family, "enum" | "other">, SurrogateValue>> = {
  text: WORD,
  integer: 0,
  decimal: 0,
  boolean: false,
  date: EPOCH_DAY,
  timestamp: `${EPOCH_DAY} 00:00:00+00`,
  time: "00:00:00",
  interval: "0",
  uuid: NIL_UUID,
  bytes: "",
  json: "{}",
  array: "{}",
  network: "0.0.0.0",
};

/** The surrogate of a column, or why there is none and what to do. */
export function surrogateFor(need: SurrogateNeed): Surrogate | { readonly problem: string } {
  const { type, isUnique, declared, checked } = need;
  if (declared !== undefined) return declaredSurrogate(need, declared);
  if (type.family === "other") {
    return {
      problem: `has the type ${type.sqlName}, for which there is no surrogate. Declare one, or map it as part of a row that is deleted`,
    };
  }
  if (type.ruled) {
    return {
      problem: `has a type with its own constraints (${type.sqlName}). Declare a surrogate that satisfies them`,
    };
  }
  if (isUnique) return distinctSurrogate(type, checked);
  if (checked) {
    return checked.passes === undefined
      ? { problem: "has a CHECK constraint that no surrogate is known to pass. Declare one that does" }
      : { kind: "value", value: checked.passes };
  }
  const value = plainSurrogate(type);
  return type.loose ? { kind: "loose", text: String(value) } : { kind: "value", value };
}

function declaredSurrogate(
  { type, isUnique, checked }: SurrogateNeed,
  declared: SurrogateValue,
): Surrogate | { readonly problem: string } {
  const why = type.family === "other" ? undefined : misfit(declared, type);
  if (why !== undefined) return { problem: `has a declared surrogate that ${why}. Declare another one` };
  if (isUnique)
    return {
      problem: "must be unique, so one declared surrogate cannot stand in several rows. Leave it out",
    };
  if (checked && checked.passes === undefined) {
    return {
      problem: "has a CHECK constraint that its declared surrogate does not pass. Declare one that does",
    };
  }
  return { kind: "value", value: declared };
}

/** The default surrogate of a column's type: also the first candidate for its CHECK constraints. */
export function plainSurrogate(type: ColumnType): SurrogateValue {
  if (type.family === "enum") return type.labels?.[0] ?? "";
  if (type.family === "other") return "";
  if (type.family === "timestamp" && !type.zoned) return `${EPOCH_DAY} 00:00:00`;
  const value = PLAIN[type.family];
  return typeof value === "string" && type.maxLength !== undefined ? value.slice(0, type.maxLength) : value;
}

/** 48 random bits: a collision of two rows is practically impossible. */
const RANDOM_MIN = 12;
const RANDOM_MAX = 32;

function distinctSurrogate(
  type: ColumnType,
  checked: Checked | undefined,
): Surrogate | { readonly problem: string } {
  if (checked)
    return {
      problem:
        "must be unique and has a CHECK constraint: no surrogate is known to keep both. Relax one of them, or map it as part of a row that is deleted",
    };
  switch (type.family) {
    case "text": {
      const max = type.maxLength ?? Infinity;
      const mark = max >= WORD.length + 1 + RANDOM_MIN ? `${WORD}-` : "~";
      const random = Math.min(RANDOM_MAX, max - mark.length);
      if (random < RANDOM_MIN) {
        return {
          problem: `must be unique, and ${max} characters are too few for surrogates that differ. It needs ${RANDOM_MIN + 1}, or must be part of a row that is deleted`,
        };
      }
      return { kind: "distinct", form: "text", mark, random };
    }
    case "uuid":
      return { kind: "distinct", form: "uuid" };
    case "bytes":
      return { kind: "distinct", form: "bytes" };
    case "integer":
      if ((type.bytes ?? 8) >= 8) return { kind: "distinct", form: "integer" };
      break;
    default:
  }
  return {
    problem: `must be unique, and its type (${type.sqlName || type.family}) has too few values for surrogates that differ. Map it as part of a row that is deleted`,
  };
}

/** Literals in a CHECK constraint are likely to pass it. */
export function candidates(
  type: ColumnType,
  expressions: readonly string[],
  declared: SurrogateValue | undefined,
): readonly SurrogateValue[] {
  if (declared !== undefined) return [declared];
  const found = expressions.flatMap((text): SurrogateValue[] => [
    ...[...text.matchAll(/'((?:[^']|'')*)'/g)].map(([, literal = ""]) => literal.replaceAll("''", "'")),
    ...[...text.replaceAll(/'(?:[^']|'')*'/g, "").matchAll(/(?<![\w.])-?\d+(?:\.\d+)?/g)].map(([number]) =>
      Number(number),
    ),
  ]);
  const near = found.flatMap((value): SurrogateValue[] =>
    typeof value === "number" ? [value, value + 1, value - 1] : [value],
  );
  const address = type.family === "text" ? [`${WORD}@${WORD}.invalid`] : [];
  const all: readonly SurrogateValue[] = [plainSurrogate(type), ...address, ...near];
  return all.filter((value) => misfit(value, type) === undefined).slice(0, CANDIDATES_MAX);
}

const CANDIDATES_MAX = 40;
