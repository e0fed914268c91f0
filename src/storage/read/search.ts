/**
 * A walk along a selection that takes only some of its rows: a bounded number of rows is looked at for each page, and the walk goes on
 * behind the last of them. The owner of the table writes which rows fit.
 */
import type { Count } from "../../core/count.ts";
import { cursor, isInstant, isText, type Page } from "../../core/cursor.ts";
import { int, text } from "../column.ts";
import { join, raw, sql, type Sql } from "../sql.ts";
import { projection } from "../table.ts";
import type { Reader } from "./reader.ts";
import { listOldest, type Selection } from "./selection.ts";

export interface Search extends Omit<Selection, "columns" | "join"> {
  /** What a found row is called. */
  readonly item: Sql;
  /** Conditions that no index serves. */
  readonly fits: readonly Sql[];
}

/** A page looks at this many rows. */
const SCAN_MAX = 500;

const PLACE = cursor<[atMs: number, id: string]>(isInstant, isText);
const FOUND = projection({ item: text("item"), fits: int("fits") });
const COUNTED = projection({ looked: int("looked"), found: int("found") });

function fit({ fits }: Search): Sql {
  return sql`case when ${join([raw("true"), ...fits], " and ")} then 1 else 0 end as fits`;
}

/** The next items, oldest first. A page may be short, or empty, although there is a next one. */
export async function searchOldest(
  reader: Reader,
  search: Search,
  { limit, after }: { readonly limit: number; readonly after: string | undefined },
): Promise<Page<string>> {
  const place = PLACE.decode(after);
  const columns = sql`cast(${search.item} as text) as item, ${fit(search)}`;
  const start = place && { atMs: place[0], id: place[1] };
  const rows = await reader.query(listOldest(reader.dialect, { ...search, columns }, SCAN_MAX, start));
  const items: string[] = [];
  for (const [index, row] of rows.entries()) {
    const { item, fits } = FOUND.read(row);
    if (fits === 1) items.push(item);
    const isLast = index === rows.length - 1 && rows.length < SCAN_MAX;
    if (items.length < limit && index < rows.length - 1) continue;
    if (isLast) break;
    return { items, next: PLACE.encode(Number(row["placed_at"]), String(row["placed_id"])) };
  }
  return { items, next: undefined };
}

/** Counts the rows that fit among the first `max`. */
export async function countFitting(reader: Reader, search: Search, max: number): Promise<Count> {
  const [row] = await reader.query(countStatement(search, max));
  const { looked, found } = row ? COUNTED.read(row) : { looked: 0, found: 0 };
  return { value: Math.min(found, max), exact: looked <= max };
}

function countStatement(search: Search, max: number): Sql {
  const { from, where, at, id } = search;
  return sql`select count(*) as looked, coalesce(sum(s.fits), 0) as found
    from (select ${fit(search)} from ${from} where ${where} order by ${at}, ${id} limit ${max + 1}) as s`;
}
