/**
 * The statements on limits by key: the turn that keeps two claims from taking the same place, the lanes with due work and how many
 * of their keys run, and the starts that count for rates.
 */
import type { LimitUsage } from "../../core/start/held.ts";
import type { Limits } from "../../core/start/limits.ts";
import { anyDue, type Claimable } from "../claim.ts";
import { float, int, json, optional, text } from "../column.ts";
import type { Dialect } from "../database.ts";
import { fields } from "../fields.ts";
import { literals, raw, sql, type Sql } from "../sql.ts";
import { isPausedName } from "../pauses/queries.ts";
import { isPausedLane } from "./lane.ts";
import { projection, type Projection } from "../table.ts";

/** A table of work with limits. It has the columns `name`, `concurrency_key` and `limits`. */
export interface LimitedTable {
  /** The name of its turn, and of its starts. */
  readonly queue: "sagas" | "calls";
  readonly claimable: Claimable;
  /** The column that names the lane. */
  readonly lane: string;
  /** What the index of due work begins with, over an alias. */
  readonly order: (alias: string) => Sql;
  /** A condition over an alias: the row is open, as the index of due work says it. */
  readonly isOpen: (alias: string) => Sql;
  /** A condition over an alias: a worker has the row. */
  readonly isHeld: (alias: string) => Sql;
  /** A further condition on `due` rows. */
  readonly where: Sql;
}

/** The claim that has the turn is the only one that takes places. A process that does not get it tries again. */
export function takeTurn(dialect: Dialect, queue: LimitedTable["queue"]): Sql {
  return sql`select t.queue from ${dialect.table("limit_turns")} as t where t.queue = ${queue} ${dialect.forUpdateOf("t", "skip locked")}`;
}

/**
 * Walks from lane to lane, and looks at each: whether it has due work, what its limits are, and how many rows of its concurrency key
 * run. A row runs as long as its lease: the place of a worker that is gone is free when its lease has ended. The last row has no
 * lane if the walk reached the end.
 */
export function surveyLanes(dialect: Dialect, of: LimitedTable, after: string, laneMax: number): Sql {
  const { claimable, lane, order, isOpen, isHeld, where } = of;
  const table = dialect.table(claimable.table);
  const next = (behind: Sql): Sql => sql`(select x.${raw(lane)} from ${table} as x
    where ${isOpen("x")} and x.${raw(lane)} > ${behind} order by x.${raw(lane)} limit 1)`;
  const first = (column: string): Sql => sql`(select ${raw(`o.${column}`)} from ${table} as o
    where ${isOpen("o")} and o.${raw(lane)} = walk.lane order by ${order("o")} limit 1)`;
  return sql`with recursive walk(lane, place) as (
      select ${next(sql`cast(${after} as text)`)}, 1
      union all
      select ${next(raw("walk.lane"))}, walk.place + 1 from walk where walk.lane is not null and walk.place < ${laneMax}),
    looked as materialized (select walk.lane, walk.place, ${first("name")} as name, ${first("limits")} as limits,
      ${first("concurrency_key")} as concurrency_key from walk)
    select looked.lane, looked.name, looked.limits,
      case when looked.lane is null or ${isPausedLane(dialect, raw("looked.lane"))} or ${isPausedName(dialect, of.queue, raw("looked.name"))} then 0
        when ${anyDue(dialect, claimable, sql`due.${raw(lane)} = looked.lane and ${where}`)} then 1 else 0 end as due,
      (select count(*) from ${table} as h where ${isHeld("h")} and h.name = looked.name
        and h.concurrency_key = looked.concurrency_key and h.next_attempt_at > ${dialect.now()}) as running
    from looked order by looked.place`;
}

export interface SurveyedLane {
  /** Undefined: the walk reached the end. */
  readonly lane: string | undefined;
  readonly name: string | undefined;
  readonly limits: Limits | undefined;
  /** 1 if it has due work. */
  readonly due: number;
  readonly running: number;
}

export const SURVEYED: Projection<SurveyedLane> = projection({
  lane: optional(text("lane")),
  name: optional(text("name")),
  limits: optional(json<Limits>("limits")),
  due: int("due"),
  running: int("running"),
});

/** A key of a rate. */
export interface RateKey {
  readonly name: string;
  readonly key: string;
}

const KEY = fields<RateKey>({ name: text(({ name }) => name), rate_key: text(({ key }) => key) });

/** How much of each key has begun within its period, and when the first of these starts leaves it. */
export function countStarts(dialect: Dialect, queue: string, keys: readonly RateKey[]): Sql {
  const untilMs = dialect.epochMs(raw("min(s.until_at)"));
  return sql`select s.name, s.rate_key, sum(s.starts) as starts, ${untilMs} - ${dialect.epochMs(dialect.now())} as free_in_ms
    from ${dialect.rows(KEY, keys)} join ${dialect.table("limit_starts")} as s
      on s.queue = ${queue} and s.name = r.name and s.rate_key = r.rate_key
    where s.until_at > ${dialect.now()} group by s.name, s.rate_key`;
}

export interface CountedStarts extends RateKey {
  readonly starts: number;
  readonly freeInMs: number;
}

export const COUNTED: Projection<CountedStarts> = projection({
  name: text("name"),
  key: text("rate_key"),
  starts: int("starts"),
  freeInMs: float("free_in_ms"),
});

/** A condition over `c`: the row has no concurrency key, or its lease has not ended. */
export function hasPlace(dialect: Dialect): Sql {
  return sql`(c.concurrency_key is null or c.next_attempt_at > ${dialect.now()})`;
}

/** What is taken of the keys of these limits. */
export function selectUsage(
  dialect: Dialect,
  { queue, claimable, isHeld }: LimitedTable,
  name: string,
  { concurrency, rate }: Limits,
): Sql {
  const starts = sql`from ${dialect.table("limit_starts")} as s where s.queue = ${queue} and s.name = ${name}
    and s.rate_key = ${rate?.key ?? null} and s.until_at > ${dialect.now()}`;
  return sql`select (select count(*) from ${dialect.table(claimable.table)} as h where ${isHeld("h")} and h.name = ${name}
      and h.concurrency_key = ${concurrency?.key ?? null} and h.next_attempt_at > ${dialect.now()}) as running,
    (select coalesce(sum(s.starts), 0) ${starts}) as begun, (select ${dialect.epochMs(raw("min(s.until_at)"))} ${starts}) as free_at`;
}

export const USAGE: Projection<LimitUsage> = projection({
  running: int("running"),
  begun: int("begun"),
  freeAtMs: optional(float("free_at")),
});

/** Starts of one claim, of one key. */
export interface NewStarts extends RateKey {
  readonly perMs: number;
  readonly starts: number;
}

const STARTS = fields<NewStarts>({
  ...KEY.shape,
  per_ms: float(({ perMs }) => perMs),
  starts: int(({ starts }) => starts),
});

export function recordStarts(dialect: Dialect, queue: string, starts: readonly NewStarts[]): Sql {
  return sql`insert into ${dialect.table("limit_starts")} as s (queue, name, rate_key, until_at, starts)
    select ${literals([queue])}, r.name, r.rate_key, ${dialect.plusMs(dialect.now(), raw("r.per_ms"))}, r.starts
    from ${dialect.rows(STARTS, starts)} where true
    on conflict (queue, name, rate_key, until_at) do update set starts = s.starts + excluded.starts`;
}

/** Starts whose period is over. Each claim that records some removes some. */
export function forgetStarts(dialect: Dialect, queue: string, limit: number): Sql {
  const table = dialect.table("limit_starts");
  return sql`delete from ${table} where (queue, name, rate_key, until_at) in (
    select o.queue, o.name, o.rate_key, o.until_at from ${table} as o
    where o.queue = ${queue} and o.until_at <= ${dialect.now()} order by o.until_at limit ${limit})`;
}
