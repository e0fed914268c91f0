/** The rows of bulk actions. */
import type { BulkAction, BulkKind, BulkRefusal } from "../core/bulk/action.ts";
import type { BulkState } from "../core/bulk/machine.ts";
import { bigint, flag, instant, json, optional, text } from "../storage/column.ts";
import { table, type Table } from "../storage/table.ts";

/** A bulk action as it is stored. Instants are in milliseconds since the epoch. */
export interface BulkRow {
  readonly id: string;
  readonly action: BulkAction;
  readonly kind: BulkKind;
  /** What was asked for (request.ts), as JSON. */
  readonly request: string;
  readonly reason: string;
  readonly by: string | undefined;
  readonly status: BulkState;
  readonly total: number;
  readonly isExact: boolean;
  readonly done: number;
  readonly refused: number;
  /** The first refused items. */
  readonly refusals: readonly BulkRefusal[];
  /** The items of the page that is under way; undefined before the first one. */
  readonly page: readonly string[] | undefined;
  /** Where the next page begins; undefined if there is none. */
  readonly place: string | undefined;
  readonly token: number;
  /** With the database's fraction of a millisecond: items that arise later are not taken. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endedAt: number | undefined;
  readonly stopReason: string | undefined;
  readonly stoppedBy: string | undefined;
}

export const BULK: Table<BulkRow> = table("bulk_actions", {
  id: text("id"),
  action: text<BulkAction>("action"),
  kind: text<BulkKind>("kind"),
  request: text("request"),
  reason: text("reason"),
  by: optional(text("done_by")),
  status: text<BulkState>("status"),
  total: bigint("total"),
  isExact: flag("is_exact"),
  done: bigint("done"),
  refused: bigint("refused"),
  refusals: json<readonly BulkRefusal[]>("refusals"),
  page: optional(json<readonly string[]>("page")),
  place: optional(text("place")),
  token: bigint("token"),
  createdAt: instant("created_at"),
  updatedAt: instant("updated_at"),
  endedAt: optional(instant("ended_at")),
  stopReason: optional(text("stop_reason")),
  stoppedBy: optional(text("stopped_by")),
});
