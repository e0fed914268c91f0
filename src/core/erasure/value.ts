/** Checks whether a value fits a column's type: used for declared surrogates and for corrections. */
import { isWellFormed } from "../identity.ts";
import type { SurrogateValue } from "./data-map.ts";
import type { ColumnType, Family } from "./schema.ts";

const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const INSTANT =
  /^(\d{4}-\d{2}-\d{2})[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?$/;

/** Why the value does not fit, as the end of a sentence; undefined if it fits. */
export function misfit(value: SurrogateValue, type: ColumnType): string | undefined {
  if (typeof value === "string" && (value.includes("\0") || !isWellFormed(value)))
    return "contains a NUL character or half of a surrogate pair";
  if (typeof value === "number" && !Number.isFinite(value)) return "is not a finite number";
  return RULES[type.family](value, type);
}

type Rule = (value: SurrogateValue, type: ColumnType) => string | undefined;

const texts: Rule = (value, { maxLength }) => {
  if (typeof value !== "string") return "is not a text";
  // Databases count characters, JavaScript counts UTF-16 code units.
  return maxLength !== undefined && Array.from(value).length > maxLength
    ? `is longer than the ${maxLength} characters that fit`
    : undefined;
};

const matching =
  (pattern: RegExp, what: string, check: (text: string) => boolean = () => true): Rule =>
  (value, { loose }) => {
    if (loose && typeof value === "number") return undefined;
    return typeof value === "string" && pattern.test(value) && check(value) ? undefined : `is not ${what}`;
  };

/** Rejects impossible dates such as February 30. */
function isDay(text: string): boolean {
  const day = text.slice(0, 10);
  const time = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

const RULES: Readonly<Record<Family, Rule>> = {
  text: texts,
  integer: (value, { bytes = 8 }) => {
    if (typeof value !== "number" || !Number.isSafeInteger(value)) return "is not a whole number";
    const limit = bytes >= 8 ? Number.MAX_SAFE_INTEGER : 2 ** (bytes * 8 - 1) - 1;
    return value > limit || value < -limit ? `does not fit a number of ${bytes} bytes` : undefined;
  },
  decimal: (value) => (typeof value === "number" ? undefined : "is not a number"),
  boolean: (value) => (typeof value === "boolean" ? undefined : "is neither true nor false"),
  date: matching(DATE, "a date such as 1970-01-31", isDay),
  timestamp: matching(INSTANT, "an instant such as 1970-01-31T12:00:00Z", isDay),
  time: matching(TIME, "a time of day such as 12:00:00"),
  uuid: matching(UUID, "a UUID"),
  enum: (value, { labels = [] }) =>
    typeof value === "string" && labels.includes(value) ? undefined : `is none of ${labels.join(", ")}`,
  json: (value) => {
    try {
      JSON.parse(String(value));
      return typeof value === "string" ? undefined : "is not JSON text";
    } catch {
      return "is not JSON text";
    }
  },
  interval: unknown,
  bytes: unknown,
  array: unknown,
  network: unknown,
  other: unknown,
};

function unknown(_value: SurrogateValue, { sqlName, family }: ColumnType): string {
  return `cannot be given for a column of type ${sqlName || family}`;
}

/** Checks the subject's id against the column that holds it. */
export function subjectMisfit(subjectId: string, type: ColumnType): string | undefined {
  if (type.family === "integer") {
    return /^-?\d{1,18}$/.test(subjectId) && Math.abs(Number(subjectId)) <= integerMax(type)
      ? undefined
      : "is not a whole number that fits it";
  }
  if (type.family === "text") return undefined;
  return misfit(subjectId, type);
}

function integerMax({ bytes = 8 }: ColumnType): number {
  return 2 ** (bytes * 8 - 1) - 1;
}
