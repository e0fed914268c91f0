/**
 * The lanes of work with limits by key. The lane of such a row is that of its kind, and what its limits are, so that the work of
 * each key waits in a lane of its own: a claim reads no rows of a key that has no place. Once a row needs no limit any more, it
 * moves to the lane of its kind: out of the rate at its first claim, out of both when it turns back.
 */
import { createHash } from "node:crypto";
import type { Limits } from "../../core/start/limits.ts";
import type { Dialect } from "../database.ts";
import { literals, raw, sql, type Sql } from "../sql.ts";

/** The signs are in no name and no digest, and sort before their characters: the lanes of a kind follow it at once. */
const CONCURRENCY = "!";
const RATE = "+";
/** Rows of any lane that are paused wait in a lane of their own, which no claim names. */
const PAUSED = ",";
/** Sorts after a lane with any of these signs, and before every other name or digest that begins alike. */
const BEHIND = ",,";

const DIGEST_LENGTH = 16;

/** The lane of a row of this kind. */
export function laneOf(kind: string, limits: Limits | undefined): string {
  if (!limits) return kind;
  const { concurrency, rate } = limits;
  const running = concurrency ? `${CONCURRENCY}${digest([concurrency.key, concurrency.limit])}` : "";
  const beginning = rate ? `${RATE}${digest([rate.key, rate.limit, rate.perMs])}` : "";
  return `${kind}${running}${beginning}`;
}

function digest(parts: readonly (string | number)[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, DIGEST_LENGTH);
}

/** The kind of the rows of a lane. */
export function kindOfLane(lane: string): string {
  return lane.split(/[!+,]/, 1)[0] as string;
}

/** The same as SQL. */
export function kindOfLanes(dialect: Dialect, lane: Sql): Sql {
  return before(dialect, before(dialect, before(dialect, lane, PAUSED), RATE), CONCURRENCY);
}

/** The lane in which a row of this lane waits while it is paused. */
export function pausedLane(dialect: Dialect, lane: Sql): Sql {
  return sql`(${unpausedLane(dialect, lane)} || ${literals([PAUSED])})`;
}

/** The lane of a row that is no longer paused. */
export function unpausedLane(dialect: Dialect, lane: Sql): Sql {
  return before(dialect, lane, PAUSED);
}

/** A condition: the lane is one of paused rows. */
export function isPausedLane(dialect: Dialect, lane: Sql): Sql {
  return sql`${unpausedLane(dialect, lane)} <> ${lane}`;
}

/** The lane of a row that needs no limit any more. It stays paused. */
export function laneWithoutLimits(dialect: Dialect, lane: Sql): Sql {
  return sql`(${kindOfLanes(dialect, lane)} || case when ${isPausedLane(dialect, lane)} then ${literals([PAUSED])} else '' end)`;
}

/** The lane after the first claim, which alone counts for the rate. */
export function laneWithoutRate(dialect: Dialect, lane: Sql): Sql {
  return before(dialect, lane, RATE);
}

/** A name for all lanes of limits of a kind together: their kind is that of each of them. */
export function limitedLanes(kind: Sql): Sql {
  return sql`(${kind} || ${literals([CONCURRENCY])})`;
}

/** The first text behind a kind and the lanes of its limits: its paused rows without limits follow. */
export function behindLimits(kind: Sql): Sql {
  return sql`(${kind} || ${literals([PAUSED])})`;
}

/** The first text behind a kind and all of its lanes. */
export function behindKind(kind: Sql): Sql {
  return sql`(${kind} || ${literals([BEHIND])})`;
}

/** A condition: the lane is one of limits. */
export function isLimited(dialect: Dialect, lane: Sql): Sql {
  return sql`${kindOfLanes(dialect, lane)} <> ${lane}`;
}

/** The text in front of a sign, or all of it. */
export function before(dialect: Dialect, text: Sql, sign: string): Sql {
  const quoted = raw(`'${sign}'`);
  return dialect.pick({
    postgres: sql`split_part(${text}, ${quoted}, 1)`,
    sqlite: sql`substr(${text}, 1, instr(${text} || ${quoted}, ${quoted}) - 1)`,
  });
}
