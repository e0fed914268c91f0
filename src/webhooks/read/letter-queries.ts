/** Open dead letters, as the items of a bulk action: each is named by its delivery. */
import type { Dialect } from "../../storage/database.ts";
import type { Search } from "../../storage/read/search.ts";
import { join, raw, sql } from "../../storage/sql.ts";
import { openLetters } from "../dead-letters/queries.ts";

export interface OpenLetterFilter {
  readonly subscription?: string | undefined;
  /** The error code of the last attempt. */
  readonly error?: string | undefined;
  /** When the delivery became a dead letter: at this instant or later. */
  readonly fromMs?: number | undefined;
  /** The same: before this instant. */
  readonly toMs: number;
}

/** The oldest first, along the index that holds only open letters. */
export function letterItems(
  dialect: Dialect,
  { subscription, error, fromMs, toMs }: OpenLetterFilter,
): Search {
  const { from, where, at, id } = openLetters(dialect);
  const range = [
    where,
    sql`${at} < ${dialect.instantOf(toMs)}`,
    ...(fromMs === undefined ? [] : [sql`${at} >= ${dialect.instantOf(fromMs)}`]),
  ];
  return {
    from,
    at,
    id,
    where: join(range, " and "),
    item: raw("d.saga_id"),
    fits: [
      ...(subscription === undefined ? [] : [sql`d.subscription_id = ${subscription}`]),
      ...(error === undefined ? [] : [sql`d.error_code = ${error}`]),
    ],
  };
}
