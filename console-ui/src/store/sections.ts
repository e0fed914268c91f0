/** The sections of the console: one table for the rail, the tab bar, the palette and the shortcuts. */
import type { Part } from "../../../src/console/contract.ts";
import type { IconName } from "../parts/icon.tsx";
import { hasPart } from "./session.ts";

export interface Section {
  readonly name: string;
  readonly word: string;
  readonly icon: IconName;
  /** After `g`. */
  readonly key: string;
  readonly group?: string;
  readonly part?: Part;
}

const sections: readonly Section[] = [
  { name: "overview", word: "Overview", icon: "overview", key: "o" },
  { name: "attention", word: "Attention", icon: "attention", key: "a" },
  { name: "sagas", word: "Sagas", icon: "sagas", key: "s", group: "Work", part: "sagas" },
  { name: "flows", word: "Event flows", icon: "flows", key: "f", group: "Work", part: "flows" },
  { name: "schedules", word: "Schedules", icon: "schedules", key: "c", group: "Work", part: "schedules" },
  { name: "outbox", word: "Outbox", icon: "outbox", key: "b", group: "Work", part: "outbox" },
  { name: "webhooks", word: "Webhooks", icon: "webhooks", key: "w", group: "Work", part: "webhooks" },
  { name: "erasures", word: "Erasures", icon: "erasures", key: "e", group: "Records", part: "erasures" },
  { name: "bulk", word: "Bulk actions", icon: "bulk", key: "m", group: "Records" },
  { name: "audit", word: "Audit", icon: "audit", key: "u", group: "Records" },
];

/** The sections that this console has. */
export function availableSections(): readonly Section[] {
  return sections.filter(({ part }) => part === undefined || hasPart(part));
}
