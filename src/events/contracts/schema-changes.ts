/**
 * What changed between two JSON Schemas, in words. A change is compatible only if data of either form is accepted by
 * both: an optional field that was added to an object that allows further fields. Texts for readers (title, description,
 * examples) are no part of the contract. Everything else asks for a new version, also where it might be harmless: whether
 * a pattern or a union became wider is not decided here.
 */

/** A JSON Schema, as a schema's library gives it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One difference between two schemas. */
export interface SchemaChange {
  /** The field, such as `address.street`; empty for the data as a whole. */
  readonly field: string;
  /** What changed, in words. */
  readonly change: string;
  /** False if it asks for a new version. */
  readonly isCompatible: boolean;
}

/** Texts for readers. They are compared nowhere. */
const TEXTS = new Set(["$schema", "$comment", "title", "description", "examples", "deprecated"]);

/** What an object says of its fields. */
const FIELDS = new Set(["properties", "required"]);

export function schemaChanges(before: JsonSchema, after: JsonSchema): readonly SchemaChange[] {
  return changesOf("", before, after);
}

function changesOf(field: string, before: unknown, after: unknown): readonly SchemaChange[] {
  if (!isObject(before) || !isObject(after))
    return isSame(before, after) ? [] : [broken(field, `${shown(before)} became ${shown(after)}`)];
  const changes: SchemaChange[] = [];
  for (const key of keysOf(before, after)) {
    if (TEXTS.has(key) || FIELDS.has(key)) continue;
    const [old, now] = [before[key], after[key]];
    if (key === "items" && isObject(old) && isObject(now)) changes.push(...changesOf(`${field}[]`, old, now));
    else if (!isSame(old, now)) changes.push(broken(field, changed(key, old, now)));
  }
  return [...changes, ...fieldChanges(field, before, after)];
}

function fieldChanges(parent: string, before: JsonSchema, after: JsonSchema): readonly SchemaChange[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const [needed, needs] = [requiredOf(before), requiredOf(after)];
  const isOpen = before["additionalProperties"] === undefined || before["additionalProperties"] === true;
  return keysOf(old, now).flatMap((name) => {
    const field = parent === "" ? name : `${parent}.${name}`;
    if (!Object.hasOwn(now, name)) return [broken(field, "was removed")];
    if (!Object.hasOwn(old, name)) {
      if (needs.has(name)) return [broken(field, "was added as a required field")];
      if (isOpen) return [{ field, change: "was added as an optional field", isCompatible: true }];
      return [broken(field, "was added, but the schema so far refuses further fields")];
    }
    const changes = changesOf(field, old[name], now[name]);
    if (needed.has(name) === needs.has(name)) return changes;
    return [broken(field, needs.has(name) ? "became required" : "became optional"), ...changes];
  });
}

function changed(key: string, old: unknown, now: unknown): string {
  if (key === "type") return `changed its type from ${shown(old)} to ${shown(now)}`;
  if (old === undefined) return `got ${key} ${shown(now)}`;
  if (now === undefined) return `lost ${key} ${shown(old)}`;
  return `changed its ${key} from ${shown(old)} to ${shown(now)}`;
}

function broken(field: string, change: string): SchemaChange {
  return { field, change, isCompatible: false };
}

const SHOWN_MAX = 60;

function shown(value: unknown): string {
  if (typeof value === "string") return value;
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

function fieldsOf({ properties }: JsonSchema): JsonSchema {
  return isObject(properties) ? properties : {};
}

function requiredOf({ required }: JsonSchema): ReadonlySet<unknown> {
  return new Set(Array.isArray(required) ? required : []);
}

function keysOf(a: object, b: object): readonly string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted();
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Lists that mean sets, such as `required`, are compared as lists: libraries keep their order. */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, index) => isSame(one, b[index]));
  if (!isObject(a) || !isObject(b)) return a === b;
  return keysOf(a, b).every((key) => TEXTS.has(key) || isSame(a[key], b[key]));
}
