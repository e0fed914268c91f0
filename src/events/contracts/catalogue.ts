/**
 * The contract of a program's events with other teams: the name, the version and the JSON Schema of each event. It is
 * written to a file, which is committed, so that a schema that changes without a new version fails a build.
 */
import { createHash } from "node:crypto";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { AnyEvent } from "../define/event.ts";
import { givesOf, isEventType, takesOf } from "../define/several.ts";
import type { EventDefinition } from "../define/registry.ts";
import { SagaDef } from "../define/saga-def.ts";
import { isHandler } from "../define/subscriber.ts";
import type { JsonSchema } from "./schema-changes.ts";

/** One event of a catalogue. */
export interface EventContract {
  readonly event: string;
  readonly version: number;
  /** The SHA-256 of the schema in canonical form. */
  readonly hash: string;
  readonly schema: JsonSchema;
}

/** The file of a catalogue. */
export interface EventCatalogue {
  /** The version of this form of file. */
  readonly catalogue: 1;
  /** Ordered by name. */
  readonly events: readonly EventContract[];
}

/** What defines events: the options of `new Amends`, and event types that nothing here handles. */
export interface EventSources {
  readonly define: readonly EventDefinition[];
  readonly sagas: readonly AnySaga[];
  readonly further: readonly AnyEvent[];
}

/** Every event type that is named by a definition, each once, ordered by name. */
export function eventsOf({ define, sagas, further }: EventSources): readonly AnyEvent[] {
  const waited = sagas.flatMap(({ steps }) =>
    steps.flatMap(({ interests = [] }) => interests.map(({ event }) => event).filter(isEventType)),
  );
  const all = [...define.flatMap(eventsOfDefinition), ...waited, ...further];
  return [...new Set(all)].toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

function eventsOfDefinition(one: EventDefinition): readonly AnyEvent[] {
  if (!(one instanceof SagaDef))
    return isHandler(one) ? [...takesOf(one), ...givesOf(one), one.err] : takesOf(one);
  const steps = one.steps.flatMap(({ handler, compensation }) => [
    ...eventsOfDefinition(handler),
    ...(compensation ? [compensation] : []),
  ]);
  return [one.trigger, ...steps];
}

/** The contract of an event; undefined if its schema cannot give a JSON Schema. */
export function contractOf(event: AnyEvent): EventContract | undefined {
  const schema = event.jsonSchema();
  if (schema === undefined) return undefined;
  return { event: event.type, version: event.version, hash: hashOf(schema), schema };
}

export function hashOf(schema: JsonSchema): string {
  return createHash("sha256").update(canonical(schema)).digest("hex");
}

/** The same value gives the same text, whatever the order of its keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(",")}}`;
}
