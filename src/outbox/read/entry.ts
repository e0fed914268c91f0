/** An outbox entry of any kind as a line of a list. */
import { optional, text, uuid } from "../../storage/column.ts";
import { projection, table, type Projection, type Table } from "../../storage/table.ts";
import { ENTRY, type EntryRow } from "../rows.ts";

export interface ListedEntry extends EntryRow {
  /** The handler of a delivery. */
  readonly handler: string | undefined;
}

export const LISTED: Table<ListedEntry> = table("outbox", {
  ...ENTRY.shape,
  handler: optional(text("handler")),
});

/** An event, or its delivery to one handler, that belongs to a run. */
export interface TrailEntry extends ListedEntry {
  readonly eventId: string;
  /** The event that caused it. */
  readonly causation: string | undefined;
}

export const TRAIL: Projection<TrailEntry> = projection({
  ...LISTED.shape,
  eventId: uuid("event_id"),
  causation: optional(text("causation")),
});
