/** One parameter of a route: how it is read, and how the OpenAPI document describes it. */
import { AmendsError } from "../../core/errors.ts";
import { parseAttributes } from "../../core/start/attribute-pairs.ts";
import type { Attributes } from "../../core/start/attributes.ts";
import type { Json } from "../contract.ts";
import { badInput } from "./answer.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Param<T> {
  readonly schema: JsonSchema;
  readonly required: boolean;
  /** `value` is a text from the address, or a property of the body; undefined where it was left out. */
  read(value: unknown, field: string): T;
}

export type Params = Readonly<Record<string, Param<unknown>>>;
export type Values<P extends Params> = { readonly [K in keyof P]: P[K] extends Param<infer T> ? T : never };

const TEXT_MAX = 1_000;

export function text(maxLength: number = TEXT_MAX): Param<string | undefined> {
  return {
    schema: { type: "string", maxLength },
    required: false,
    read: (value, field) => {
      if (value === undefined || value === "") return undefined;
      return readText(value, field, maxLength);
    },
  };
}

function readText(value: unknown, field: string, maxLength: number): string {
  if (typeof value !== "string") throw badInput(field, "must be a string");
  if (value.length > maxLength) throw badInput(field, `must have at most ${maxLength} characters`);
  if (value.includes("\0") || /\p{Surrogate}/u.test(value))
    throw badInput(field, "must be well-formed Unicode");
  return value;
}

export function needed<T>(param: Param<T | undefined>): Param<T> {
  return {
    schema: param.schema,
    required: true,
    read: (value, field) => {
      const read = param.read(value, field);
      if (read === undefined) throw badInput(field, "is missing");
      return read;
    },
  };
}

export function oneOf<const T extends string>(names: readonly T[]): Param<T | undefined> {
  return {
    schema: { type: "string", enum: names },
    required: false,
    read: (value, field) => {
      if (value === undefined || value === "") return undefined;
      if (names.includes(value as T)) return value as T;
      throw badInput(field, `must be one of ${names.join(", ")}`);
    },
  };
}

/** Several of them, with commas between. */
export function someOf<const T extends string>(names: readonly T[]): Param<readonly T[]> {
  return {
    schema: { type: "string", description: `Some of ${names.join(", ")}, with commas between.` },
    required: false,
    read: (value, field) => {
      if (value === undefined || value === "") return [];
      const given = typeof value === "string" ? [...new Set(value.split(","))] : [];
      const isKnown = (name: string): name is T => names.includes(name as T);
      if (given.length > 0 && given.every(isKnown)) return given;
      throw badInput(field, `must be some of ${names.join(", ")}, with commas between`);
    },
  };
}

export function integer(minimum: number, maximum: number): Param<number | undefined> {
  return {
    schema: { type: "integer", minimum, maximum },
    required: false,
    read: (value, field) => {
      if (value === undefined || value === "") return undefined;
      const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
      if (typeof number === "number" && Number.isInteger(number) && number >= minimum && number <= maximum)
        return number;
      throw badInput(field, `must be a whole number of ${minimum} to ${maximum}`);
    },
  };
}

export const LIMIT_MAX = 200;

/** How many lines a page has. */
export function limit(usual: number = 50): Param<number> {
  const bounded = integer(1, LIMIT_MAX);
  return {
    schema: { ...bounded.schema, default: usual },
    required: false,
    read: (value, field) => bounded.read(value, field) ?? usual,
  };
}

const INSTANT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/;

/** Milliseconds since the epoch. */
export function instant(): Param<number | undefined> {
  return {
    schema: { type: "string", format: "date-time" },
    required: false,
    read: (value, field) => {
      if (value === undefined || value === "") return undefined;
      const ms = typeof value === "string" && INSTANT.test(value) ? Date.parse(value) : NaN;
      if (Number.isNaN(ms)) throw badInput(field, "must be an instant such as 2026-01-31T12:00:00Z");
      return ms;
    },
  };
}

/** Attributes of sagas as pairs: `tenant=acme,tier=2`. */
export function attributes(): Param<Attributes | undefined> {
  return {
    schema: { type: "string", description: "Pairs of names and values, such as tenant=acme,tier=2." },
    required: false,
    read: (value, field) => {
      if (value === undefined || value === "") return undefined;
      try {
        return parseAttributes(readText(value, field, PAIRS_MAX), "It");
      } catch (error) {
        if (!(error instanceof AmendsError)) throw error;
        throw badInput(field, "must be pairs such as tenant=acme,tier=2, each name once");
      }
    },
  };
}

/** Sixteen of the longest pairs. */
const PAIRS_MAX = 16 * 1_600;

export function bool(): Param<boolean | undefined> {
  return {
    schema: { type: "boolean" },
    required: false,
    read: (value, field) => {
      if (value === undefined || typeof value === "boolean") return value;
      throw badInput(field, "must be true or false");
    },
  };
}

/** Any JSON: the body as a whole was within its limits. */
export function anyJson(): Param<Json | undefined> {
  return { schema: {}, required: false, read: (value) => value as Json | undefined };
}

/** The reason that every action asks for. */
export function reason(): Param<string> {
  const bounded = needed(text());
  return {
    schema: { type: "string", minLength: 1, maxLength: TEXT_MAX },
    required: true,
    read: (value, field) => {
      const given = bounded.read(value, field);
      if (given.trim() === "") throw badInput(field, "is missing: every action needs one, and it is audited");
      return given;
    },
  };
}

/** Reads all of them, and refuses what is not among them. */
export function readAll<P extends Params>(params: P, given: Readonly<Record<string, unknown>>): Values<P> {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(params, key));
  if (unknown !== undefined) {
    const names = Object.keys(params).join(", ") || "none";
    throw badInput(unknown.slice(0, 64), `is not a known parameter. Known: ${names}`);
  }
  const read = Object.entries(params).map(([name, param]) => [
    name,
    param.read(Object.hasOwn(given, name) ? given[name] : undefined, name),
  ]);
  return Object.fromEntries(read) as Values<P>;
}
