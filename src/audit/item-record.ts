/**
 * The records of the items of a bulk action. An item has one record in each bulk action, whose id names both: whoever writes it
 * carries the item out, in the same transaction, so that a page that is repeated after a crash does nothing twice.
 */
import type { ActionOutcome, NewAction } from "../core/action.ts";
import { optional, text } from "../storage/column.ts";
import type { Session } from "../storage/database.ts";
import type { Reader } from "../storage/read/reader.ts";
import { projection } from "../storage/table.ts";
import { insertAction, selectResults } from "./action-queries.ts";

/** What became of an item. */
export interface ItemResult {
  readonly outcome: Exclude<ActionOutcome, "asked">;
  /** Why it was refused. */
  readonly code: string | undefined;
}

/** Records an item with its result. False if it is on record already: then it must not be carried out. */
export async function recordItem(
  session: Session,
  id: string,
  action: NewAction,
  { outcome, code = null }: { readonly outcome: ItemResult["outcome"]; readonly code?: string | null },
): Promise<boolean> {
  const asked = await session.query(insertAction(session.dialect, id, action, "asked", null));
  if (asked.length === 0) return false;
  await session.query(insertAction(session.dialect, id, action, outcome, code));
  return true;
}

const RESULT = projection({
  id: text("id"),
  outcome: text<ItemResult["outcome"]>("outcome"),
  code: optional(text("code")),
});

/** The results of the items that are on record, by the ids of their records. */
export async function readItemResults(
  reader: Reader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ItemResult>> {
  const rows = ids.length === 0 ? [] : await reader.query(selectResults(reader.dialect, ids));
  return new Map(rows.map((row) => RESULT.read(row)).map(({ id, ...result }) => [id, result]));
}
