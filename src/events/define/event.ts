/**
 * Events are typed values: a name, a schema from any Standard Schema library, and what every event has (an id, and
 * once it is on its way a time, a correlation and a causation). The data that the constructor received is stored as
 * JSON; reading it upcasts it to the newest version and parses it with the schema.
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { AmendsError } from "../../core/errors.ts";
import {
  isUuid,
  RESERVED_FIELDS,
  SEAL,
  sealOf,
  type ReservedField,
  type Sealed,
} from "../../core/flow/sealed.ts";
import { checkId, checkName } from "../../core/identity.ts";
import { encodeJson, type Stored } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import { newId } from "../../runtime/identifiers.ts";

/** The fields that every event has besides its own. */
export interface EventMeta<Name extends string = string> {
  /** The name of the event type. */
  readonly type: Name;
  /** The id of the event, a UUID. */
  readonly id: string;
  /** When the event was published, by the database's clock; undefined before. */
  readonly time: Date | undefined;
  /** The process that the event belongs to; undefined before the event is published, if none was given. */
  readonly correlation: string | undefined;
  /** The id of the event whose handler produced this one; undefined if none did. */
  readonly causation: string | undefined;
}

/** An event: its own fields, and those that every event has. */
export type EventValue<Name extends string = string, Data = unknown> = Readonly<Data> & EventMeta<Name>;

/** An event as a handler receives it: its time and its correlation are known. */
export type DeliveredEvent<Name extends string = string, Data = unknown> = EventValue<Name, Data> & {
  readonly time: Date;
  readonly correlation: string;
};

/** The second argument of an event type: `OrderPlaced(data, { id, correlation })`. */
export interface NewEventOptions {
  /**
   * The id of the event, a UUID in lower case. An event that is published twice under one id is one event. Default: a
   * new id.
   */
  readonly id?: string;
  /** The process that the event belongs to. Events of one correlation reach each handler in their order. */
  readonly correlation?: string;
}

/** An event type, made by `event(…)`. Calling it makes an event: `OrderPlaced({ orderId })`. */
export interface EventType<Name extends string = string, Input = never, Data = unknown> {
  /** Makes an event. Throws `BAD_INPUT` if the data does not fit the schema. */
  (data: Input, options?: NewEventOptions): EventValue<Name, Data>;
  /** The name of the event type. */
  readonly type: Name;
  /** The version of its data. */
  readonly version: number;
  /**
   * Reads stored data: upcasts it if it is of an older version, and validates it. Throws `BAD_INPUT` if it no longer
   * fits the schema.
   */
  read(payload: string | null, version: number): unknown;
  /** Stored data in the form of this version: upcast if it is of an older one. It is not validated. */
  upcast(payload: string | null, version: number): unknown;
  /** The names of the required fields, as far as the schema tells. */
  requires(): readonly string[];
  /** The JSON Schema of the data that it takes; undefined if the schema's library cannot give one. */
  jsonSchema(): Readonly<Record<string, unknown>> | undefined;
  /** Only for the compiler. */
  readonly types?: { readonly data: Data; readonly accepts: (data: Input) => void };
}

/** Any event type, whatever its fields. */
export type AnyEvent = EventType;

export type NameOf<E extends AnyEvent> = E["type"];
/** The fields of an event type, as its schema returns them. */
export type DataOf<E extends AnyEvent> = NonNullable<E["types"]>["data"];
export type ValueOf<E extends AnyEvent> = EventValue<NameOf<E>, DataOf<E>>;
/** An event of this type, as a handler receives it. */
export type DeliveredOf<E extends AnyEvent> = DeliveredEvent<NameOf<E>, DataOf<E>>;

/** The options of `event`. */
export interface EventOptions {
  /** The version of the data, 1 to 1000. A version above 1 needs `upcast`. Default: 1. */
  readonly version?: number;
  /**
   * Converts stored data of an older version to this version: a function for all of them, or a chain with one function
   * for each older version, which converts it to the next.
   */
  readonly upcast?: Upcast | UpcastChain;
}

/** Converts stored data of this older version to the newest. */
type Upcast = (data: unknown, version: number) => unknown;

/** By version: converts its data to the next version, as in `{ 1: v1ToV2, 2: v2ToV3 }`. */
export type UpcastChain = Readonly<Record<number, (data: unknown) => unknown>>;

/** Why a schema cannot describe an event, as a text that the compiler shows; unknown if it can. */
type Fits<Input, Data> = [Extract<keyof Data, ReservedField>] extends [never]
  ? [Stored<Input>] extends [Input]
    ? unknown
    : "What this schema takes does not survive being stored as JSON: take texts, numbers, booleans, lists and objects, and transform them"
  : `The field ${Extract<keyof Data, ReservedField>} belongs to the event itself: give this one another name`;

const VERSION_MAX = 1_000;

/**
 * Defines an event type by a name and a schema from any Standard Schema library. The schema must be synchronous. Throws
 * `BAD_DEFINITION` if the definition is not valid.
 */
export function event<const Name extends string, Input, Data>(
  name: Name,
  schema: StandardSchemaV1<Input, Data> & Fits<Input, Data>,
  options: EventOptions = {},
): EventType<Name, Input, Data> {
  checkName(name, "An event's name");
  refuseUnknown(options, ["version", "upcast"], `Event ${name}`);
  const standard = (schema as Partial<StandardSchemaV1> | undefined)?.["~standard"];
  if (typeof standard?.validate !== "function") {
    throw bad(
      name,
      "give it a schema from a Standard Schema library, such as Zod, Valibot or ArkType, for its fields",
    );
  }
  const { version = 1 } = options;
  if (!Number.isInteger(version) || version < 1 || version > VERSION_MAX) {
    throw bad(name, `its version must be a whole number from 1 to ${VERSION_MAX}`);
  }
  const upcast = readUpcast(name, version, options.upcast);
  const parse = (data: unknown): object => validate(name, standard, data);
  const door = { field: `The data of event ${name}`, code: "BAD_INPUT" } as const;
  const make = (data: unknown, given?: NewEventOptions): unknown => {
    const { id, correlation } = given === undefined ? ITS_OWN : checkedOptions(name, given);
    const fields = parse(data);
    // The schema's input is stored, not its output: reading parses the data with the schema again.
    const payload = encodeJson(data, door) as string;
    const hasGivenId = id !== undefined;
    const seal = { type: name, version, id: id ?? newId(), hasGivenId, payload, correlation };
    return valueOf(fields, seal, undefined, correlation, undefined);
  };
  const current = (payload: string | null, stored: number): unknown => {
    const data = payload === null ? {} : (JSON.parse(payload) as unknown);
    return stored < version && upcast ? upcast(data, stored) : data;
  };
  const read = (payload: string | null, stored: number): unknown => parse(current(payload, stored));
  const requires = (): readonly string[] => {
    const result = standard.validate({});
    if (result instanceof Promise || !result.issues) return [];
    return result.issues.flatMap(({ path }) => (path?.[0] === undefined ? [] : [segment(path[0])]));
  };
  const jsonSchema = (): Readonly<Record<string, unknown>> | undefined => jsonSchemaOf(standard);
  const members = { type: name, version, read, upcast: current, requires, jsonSchema };
  return Object.assign(make, members) as unknown as EventType<Name, Input, Data>;
}

/** A chain must lead from every older version to this one: what was stored once can come back at any time. */
function readUpcast(name: string, version: number, given: EventOptions["upcast"]): Upcast | undefined {
  if (given === undefined && version > 1)
    throw bad(name, "a version above 1 needs an `upcast`, which reads what older versions have stored");
  if (given === undefined || typeof given === "function") return given;
  if (typeof given !== "object" || given === null)
    throw bad(name, "`upcast` must be a function, or a chain of one for each older version");
  const older = Array.from({ length: version - 1 }, (_, index) => index + 1);
  const gap = older.find((from) => typeof given[from] !== "function");
  if (gap !== undefined)
    throw bad(
      name,
      `its chain of upcasts has a gap: add \`${gap}: (data) => …\`, which makes version ${gap + 1} of version ${gap}`,
    );
  const extra = Object.keys(given).find((key) => !older.includes(Number(key)));
  if (extra !== undefined)
    throw bad(name, `its chain of upcasts has ${extra}, but it has versions 1 to ${version}`);
  return (data, from) => older.slice(from - 1).reduce((value, step) => given[step]?.(value), data);
}

const ITS_OWN: { readonly id: string | undefined; readonly correlation: string | undefined } = {
  id: undefined,
  correlation: undefined,
};

function checkedOptions(name: string, given: NewEventOptions): typeof ITS_OWN {
  refuseUnknown(given, ["id", "correlation"], `Event ${name}`);
  const { id, correlation } = given;
  if (id !== undefined && !isUuid(id))
    throw new AmendsError("BAD_ID", `The id of an event must be a UUID in small letters.`);
  return {
    id,
    correlation: correlation === undefined ? undefined : checkId(correlation, `The correlation of ${name}`),
  };
}

function validate(name: string, standard: StandardSchemaV1["~standard"], data: unknown): object {
  const result = standard.validate(data);
  if (result instanceof Promise) throw bad(name, "its schema must not be asynchronous");
  if (result.issues) {
    // Names only the path: the wrong value may be personal data.
    const paths = result.issues
      .map(({ path }) => (path ?? []).map(segment).join(".") || "the whole")
      .join(", ");
    throw new AmendsError("BAD_INPUT", `The data of event ${name} does not fit its schema: ${paths}.`, {
      name,
    });
  }
  const { value } = result;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new AmendsError("BAD_INPUT", `The data of event ${name} must be an object with fields.`, { name });
  }
  const taken = RESERVED_FIELDS.find((field) => Object.hasOwn(value, field));
  if (taken !== undefined) {
    throw bad(name, `the field ${taken} belongs to the event itself: give this one another name`);
  }
  return value;
}

/** What Standard JSON Schema gives. A schema that has no JSON Schema, such as one with a function in it, makes it throw. */
function jsonSchemaOf(
  standard: Partial<StandardJSONSchemaV1.Props>,
): Readonly<Record<string, unknown>> | undefined {
  try {
    return standard.jsonSchema?.input({ target: "draft-2020-12" });
  } catch {
    return undefined;
  }
}

function segment(part: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof part === "object" ? part.key : part);
}

/**
 * An event's own fields and the common fields as one frozen value. The common fields come first, so that all events
 * begin with the same object shape, which makes construction three times as fast.
 */
export function valueOf(
  fields: object,
  seal: Sealed,
  time: Date | undefined,
  correlation: string | undefined,
  causation: string | undefined,
): EventValue {
  const { type, id } = seal;
  // The seal comes last: fields that were copied from another event may include that event's seal.
  return Object.freeze({ type, id, time, correlation, causation, ...fields, [SEAL]: seal });
}

/** The same event with an id later than all before it. An id from the caller stays. */
export function withLaterId(made: EventValue): EventValue {
  const seal = sealOf(made);
  if (!seal || seal.hasGivenId) return made;
  const id = newId();
  return Object.freeze({ ...made, id, [SEAL]: { ...seal, id } });
}

function bad(name: string, why: string): AmendsError {
  return new AmendsError("BAD_DEFINITION", `Event ${name}: ${why}.`, { name });
}
