/** Compares the events of a program with a catalogue that was written earlier. */
import type { EventCatalogue, EventContract } from "./catalogue.ts";
import { schemaChanges } from "./schema-changes.ts";

/**
 * `changed`, `removed` and `older` fail a build. `compatible`: the schema changed in a way that needs no version.
 * `versioned`: the event has a newer version. `older`: its version is lower than that of the catalogue.
 */
export type ContractStatus = "same" | "new" | "compatible" | "versioned" | "changed" | "removed" | "older";

/** What became of one event since the catalogue was written. */
export interface ContractChange {
  readonly event: string;
  /** The version now; undefined if the event was removed. */
  readonly version: number | undefined;
  /** The version in the catalogue; undefined if the event is new. */
  readonly was: number | undefined;
  readonly status: ContractStatus;
  /** In words, one for each difference. */
  readonly changes: readonly string[];
}

const FAILING: readonly ContractStatus[] = ["changed", "removed", "older"];

export function isFailing({ status }: ContractChange): boolean {
  return FAILING.includes(status);
}

/** Every event of both, ordered by name. */
export function compareContracts(
  written: EventCatalogue,
  now: readonly EventContract[],
): readonly ContractChange[] {
  const before = new Map(written.events.map((one) => [one.event, one]));
  const after = new Map(now.map((one) => [one.event, one]));
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return names.map((event) => changeOf(event, before.get(event), after.get(event)));
}

function changeOf(
  event: string,
  before: EventContract | undefined,
  after: EventContract | undefined,
): ContractChange {
  const made = (status: ContractStatus, changes: readonly string[] = []): ContractChange => ({
    event,
    version: after?.version,
    was: before?.version,
    status,
    changes,
  });
  if (!before) return made("new");
  if (!after) return made("removed");
  if (after.version > before.version) return made("versioned");
  if (after.version < before.version) return made("older");
  if (after.hash === before.hash) return made("same");
  const changes = schemaChanges(before.schema, after.schema);
  if (changes.length === 0) return made("same");
  const words = changes.map(({ field, change }) => `${field === "" ? "the data" : field} ${change}`);
  return made(changes.every(({ isCompatible }) => isCompatible) ? "compatible" : "changed", words);
}
