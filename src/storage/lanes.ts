/**
 * Lanes keep the kinds of work in one table apart: a saga's kind, a call's name, an event's handler. A claim takes a share of
 * each lane before it fills up, so that a long queue of one kind cannot starve the others. The index of due work begins with
 * the lane, so that each lane is read by itself.
 */
import type { Dialect } from "./database.ts";
import { text } from "./column.ts";
import { fields } from "./fields.ts";
import { empty, join, raw, sql, type Sql } from "./sql.ts";

/** The lanes that a claim may take from, the one that is served first in front. */
export interface Lanes {
  /** The column of `due` that names the lane. */
  readonly column: Sql;
  readonly names: readonly string[];
  /** A condition over the name of a lane: nothing of it is claimed. Default: no lane is paused. */
  readonly isPaused?: ((lane: Sql) => Sql) | undefined;
}

/** The open rows of a table, by lane. */
export interface LaneIndex {
  readonly table: Sql;
  readonly column: string;
  /** A condition over `x` that only rows of the index meet. */
  readonly where: Sql;
  /** The first text behind a lane at which the next one may be. Default: any text behind it. */
  readonly next?: (lane: Sql) => Sql;
}

/**
 * The lanes that have rows, as a relation `lanes(lane)`, for `with recursive`. It reads one entry of the index for each lane,
 * however many rows the lane has.
 */
export function lanesInUse({ table, column, where, next = (lane) => lane }: LaneIndex): Sql {
  const lane = raw(`x.${column}`);
  return sql`lanes(lane) as (
      select (select ${lane} from ${table} as x where ${where} and ${lane} >= '' order by ${lane} limit 1)
      union all
      select (select ${lane} from ${table} as x where ${where} and ${lane} > ${next(raw("lanes.lane"))} order by ${lane} limit 1)
      from lanes where lanes.lane is not null)`;
}

const LANE = fields<string>({ lane: text((name) => name) });

/**
 * The first `count` rows of each lane, as a relation `first(value)`. `query` reads the lane as `r.lane`. PostgreSQL reads a lane
 * only as far as the outer limit needs it, so that it locks no row that is not picked.
 */
export function firstOfLanes(
  dialect: Dialect,
  { names, isPaused }: Pick<Lanes, "names" | "isPaused">,
  query: Sql,
  count: Sql,
  lock: Sql,
): Sql {
  const rows = dialect.rows(LANE, names);
  // Behind a limit the lanes are read first: rows of a paused lane are neither read nor locked.
  const all = raw(dialect.pick({ postgres: "offset 0", sqlite: "limit -1" }));
  const open = isPaused
    ? sql`(select r.lane from ${rows} where not ${isPaused(raw("r.lane"))} ${all}) as r`
    : rows;
  return sql`${open} ${dialect.pick({
    postgres: sql`cross join lateral (${query} limit ${count} ${lock}) as first`,
    sqlite: sql`join json_each((select json_group_array(listed.value) from (${query} limit ${count}) as listed)) as first`,
  })}`;
}

/**
 * The least value of these queries over all lanes that are not paused, or null. Each query reads the lane as `r.lane` and returns one
 * value at most.
 */
export function leastOfLanes(
  dialect: Dialect,
  { names, isPaused }: Pick<Lanes, "names" | "isPaused">,
  queries: readonly Sql[],
): Sql {
  const open = isPaused ? sql`where not ${isPaused(raw("r.lane"))}` : empty;
  const each = queries.map(
    (query) => sql`select (${query}) as value from ${dialect.rows(LANE, names)} ${open}`,
  );
  return sql`(select min(firsts.value) from (${join(each, " union all ")}) as firsts)`;
}

/** Orders lanes such that the one that was served longest ago comes first. One for each claiming process and table. */
export class LaneTurns {
  readonly #servedAt = new Map<string, number>();
  #turn = 0;

  /** The number of lanes that were served. */
  get size(): number {
    return this.#servedAt.size;
  }

  order(lanes: readonly string[]): readonly string[] {
    if (lanes.length < 2) return lanes;
    return lanes.toSorted((a, b) => (this.#servedAt.get(a) ?? 0) - (this.#servedAt.get(b) ?? 0));
  }

  /** A claim has taken rows of these lanes. */
  served(lanes: Iterable<string>): void {
    this.#turn++;
    for (const lane of lanes) this.#servedAt.set(lane, this.#turn);
  }
}
