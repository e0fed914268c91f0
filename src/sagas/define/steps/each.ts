/** Reads a step that acts once for each item of a list, and what it says of its list when it is run. */
import { AmendsError } from "../../../core/errors.ts";
import { isWellFormed } from "../../../core/identity.ts";
import { encodeJson } from "../../../core/json.ts";
import { LIST_BYTES_MAX, LIST_MAX, listingDetails } from "../../../core/saga/steps/each.ts";
import { andThen, goesOn, unfit, type OwnOutcome } from "../own-outcome.ts";
import { whole } from "../saga-options.ts";
import { readStep, type Place, type StepDefinition } from "../settings.ts";

const DEFAULT_CONCURRENCY = 10;

/** The most characters of an item's key. */
const KEY_MAX = 255;

interface Given {
  readonly over?: unknown;
  readonly key?: unknown;
  readonly concurrency?: number;
}

type Over = (context: unknown) => unknown;
type Key = (item: unknown) => unknown;

export function readEach(place: Place, name: string, options: unknown): StepDefinition {
  const { over, key, concurrency = DEFAULT_CONCURRENCY, ...calls } = (options ?? {}) as Given;
  const step = readStep(place.saga, place.settings, place.before, name, calls, false);
  const where = `Saga ${place.saga}, step ${name}`;
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`, { saga: place.saga, step: name });
  };
  if (typeof over !== "function") return bad("`over` must be a function that returns the list");
  if (typeof key !== "function") return bad("`key` must be a function that returns the key of an item");
  if (step.transaction) bad("a step for each item of a list cannot be transactional");
  if (step.deadlineMs !== undefined) bad("a step for each item of a list has no deadline of its own");
  const limit = whole(concurrency, 1, `${where}: concurrency`);
  return {
    ...step,
    planned: { ...step.planned, each: { limit } },
    list: (context: never) => andThen((over as Over)(context), (list) => listed(list, key as Key, name)),
  };
}

/** The list as it is recorded, or why it cannot be. */
function listed(list: unknown, keyOf: Key, step: string): OwnOutcome {
  if (!Array.isArray(list)) return unfit("ListNotArray");
  if (list.length > LIST_MAX) return unfit("ListTooLong");
  const items: { readonly key: string; readonly json: string }[] = [];
  const keys = new Set<string>();
  let bytes = 0;
  for (const item of list as readonly unknown[]) {
    const json = jsonOf(item, step);
    if (json === null) return unfit("ItemNotJson");
    const key = keyOf(JSON.parse(json));
    if (!isKey(key)) return unfit("BadItemKey");
    if (keys.has(key)) return unfit("DuplicateItemKey");
    keys.add(key);
    items.push({ key, json });
    bytes += json.length;
    if (bytes > LIST_BYTES_MAX) return unfit("ListTooLarge");
  }
  return goesOn(listingDetails(items));
}

function jsonOf(item: unknown, step: string): string | null {
  try {
    return encodeJson(item, { field: `An item of step ${step}`, allowNul: true });
  } catch {
    return null;
  }
}

function isKey(key: unknown): key is string {
  const isText = typeof key === "string" && key.length > 0 && key.length <= KEY_MAX;
  return isText && !key.includes("\0") && isWellFormed(key);
}
