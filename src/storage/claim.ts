/**
 * The claim and the renewal of every table of due work. A row is due when its state is claimable and its gate has
 * passed. A claim is one statement: it picks at most `limit` due rows, a share of each lane first, gives each a new token,
 * and closes the gate for the length of the lease. A worker with an older token can never write again.
 */
import { claimToken } from "../core/claim-token.ts";
import type { Grant } from "../core/start/grants.ts";
import { bigint, int, text, uuid } from "./column.ts";
import type { Dialect } from "./database.ts";
import { draw } from "./draw.ts";
import { fields, type Fields } from "./fields.ts";
import { joinFirst } from "./first-rows.ts";
import { firstOfLanes, type Lanes } from "./lanes.ts";
import { empty, join, literals, raw, sql, type Sql } from "./sql.ts";

export interface Claimable {
  readonly table: string;
  readonly id: string;
  /** The type of the id. Default: text. */
  readonly idType?: "text" | "uuid" | "bigint";
  readonly states: readonly string[];
  /** Rows are picked class by class, so that failing rows cannot starve fresh ones. */
  readonly classes: readonly RowClass[];
  /** Within a class, rows of a lower rank come first; rows of one rank by their gate. */
  readonly rank?: Sql;
  /** Rows are ordered by their gate minus their priority (`byPriority`), instead of by their gate. */
  readonly hasPriorities?: boolean;
}

/** A class of rows. */
export interface RowClass {
  /** A condition on `due`. */
  readonly where: Sql;
  /** The claim takes a share of each lane, and fills up in their order. Undefined: the order of the gates alone. */
  readonly lanes?: Lanes | undefined;
}

export interface ClaimOptions {
  readonly limit: number;
  readonly leaseMs: number;
  /** A further condition on `due`: the kinds of work that this worker knows. */
  readonly where: Sql;
  /** Lanes from which the claim may take a number of rows, beside those of the classes. Their rows come first. */
  readonly granted?: GrantedLanes | undefined;
  /** Rows that are not claimed even if they are due. */
  readonly except?: readonly string[] | undefined;
  /** Further assignments of the claim, over `c`, the claimed row. */
  readonly set: Sql;
  /** Without an alias: SQLite does not allow one there. */
  readonly returning: Sql;
}

/** Lanes whose limits by key let some rows go. */
export interface GrantedLanes {
  /** The column of `due` that names the lane. */
  readonly column: Sql;
  readonly grants: readonly Grant[];
}

const GRANT = fields<Grant>({ lane: text(({ lane }) => lane), free: int(({ free }) => free) });

/** Due rows under a condition, in the order of claims. */
function dueRows(dialect: Dialect, queue: Claimable, where: Sql, further: Sql): Sql {
  const id = raw(queue.id);
  const gated = gate(dialect, raw("due.next_attempt_at"));
  const place = queue.hasPriorities ? raw(byPriority(dialect, "due.")) : gated;
  // A place is never after its gate: the index is read up to now, and rows whose gate is still closed are left out.
  const isReached = queue.hasPriorities ? sql`and ${place} <= ${placeOf(dialect, dialect.now())}` : empty;
  return sql`select due.${id} as value from ${dialect.table(queue.table)} as due
      where due.status in (${literals(queue.states)}) and ${where} ${isReached}
        and ${gated} <= ${dialect.now()} and ${further}
      order by ${queue.rank ? sql`${queue.rank}, ` : empty}${place}, due.${id}`;
}

/** The first due rows of one lane, or of no lane; none of a lane that is paused. */
function ofOneLane(
  dialect: Dialect,
  lanes: Lanes | undefined,
  due: (where: Sql) => Sql,
  where: Sql,
  limit: Sql,
): Sql {
  if (!lanes) return sql`${due(where)} limit ${limit}`;
  const name = sql`cast(${lanes.names[0] ?? ""} as text)`;
  const inLane = sql`${lanes.column} = ${lanes.names[0] ?? ""} and ${where}`;
  const paused = lanes.isPaused?.(name);
  if (!paused) return sql`${due(inLane)} limit ${limit}`;
  // Each database is given the form in which it asks once, before it reads a row.
  return dialect.pick({
    postgres: sql`${due(sql`${inLane} and not ${paused}`)} limit ${limit}`,
    sqlite: sql`${due(inLane)} limit (case when ${paused} then 0 else ${limit} end)`,
  });
}

/** A condition: there is a due row under this condition on `due`. Its order keeps it on the index of due work. */
export function anyDue(dialect: Dialect, queue: Claimable, where: Sql): Sql {
  const any = queue.classes.map(
    (rowClass) => sql`(${dueRows(dialect, queue, rowClass.where, where)} limit 1) is not null`,
  );
  return sql`(${join(any, " or ")})`;
}

export function claimStatement(dialect: Dialect, queue: Claimable, options: ClaimOptions): Sql {
  const table = dialect.table(queue.table);
  const id = raw(queue.id);
  const { except = [] } = options;
  const others =
    except.length === 0 ? empty : sql`and not (${dialect.among(sql`cast(due.${id} as text)`, except)})`;
  const lock = dialect.forUpdateOf("due", "skip locked");
  const picks: Sql[] = [];
  // MATERIALIZED, otherwise a semi-join plan could run the pick again for every row and claim past the limit.
  const pick = (query: (limit: Sql) => Sql): void => {
    const taken = picks.map((_, before) => sql` - (select count(*) from pick_${raw(String(before))})`);
    const limit = join([sql`${options.limit}`, ...taken], "");
    picks.push(sql`pick_${raw(String(picks.length))} as materialized (${query(limit)})`);
  };
  const further = sql`${options.where} ${others}`;
  const due = (where: Sql): Sql => dueRows(dialect, queue, where, further);
  const granted = options.granted?.grants.length ? options.granted : undefined;
  for (const { where } of granted ? queue.classes : []) {
    const { column, grants } = granted as GrantedLanes;
    const taken = picks.map(
      (_, before) => sql` - (select count(*) from pick_${raw(String(before))} as b where b.lane = r.lane)`,
    );
    const rows = sql`${due(sql`${column} = r.lane and ${where}`)} ${lock}`;
    const free = join([raw("r.free"), ...taken], "");
    const first = joinFirst(dialect, rows, free, options.limit);
    pick(
      (limit) => sql`select first.value, r.lane from ${dialect.rows(GRANT, grants)} ${first} limit ${limit}`,
    );
  }
  for (const { where, lanes } of queue.classes) {
    if (!lanes || lanes.names.length < 2) {
      pick((limit) => sql`${ofOneLane(dialect, lanes, due, where, limit)} ${lock}`);
      continue;
    }
    const share = sql`${Math.ceil(options.limit / lanes.names.length)}`;
    const inLane = sql`${lanes.column} = r.lane and ${where}`;
    const firsts = (query: Sql, count: Sql): Sql => firstOfLanes(dialect, lanes, query, count, lock);
    pick((limit) => sql`select first.value from ${firsts(due(inLane), share)} limit ${limit}`);
    // A row that this claim has locked itself is not skipped as locked.
    const rest = sql`${inLane} and due.${id} not in (select value from pick_${raw(String(picks.length - 1))})`;
    pick((limit) => sql`select first.value from ${firsts(due(rest), limit)} limit ${limit}`);
  }
  const all = join(
    picks.map((_, index) => sql`select value as row_id from pick_${raw(String(index))}`),
    " union all ",
  );
  return sql`with ${join(picks, ", ")}, picked as materialized (${all})
    update ${table} as c set token = ${nextToken()}, last_attempt_at = ${dialect.now()},
      next_attempt_at = ${dialect.plusMs(dialect.now(), options.leaseMs)}, ${options.set}
    from picked where c.${id} = picked.row_id
    returning ${options.returning}`;
}

/**
 * Rows without an attempt have class 0, the others class 1, so that failing rows cannot starve fresh ones. An index
 * uses the same text.
 */
export function freshFirst(attempts: string): string {
  return `case when ${attempts} = 0 then 0 else 1 end`;
}

/** An entry that was never tried, or was requeued. A parked entry has no attempts either, but was tried. */
export function isUntried(alias: string = ""): string {
  return `${alias}status = 'pending' and ${alias}attempts = 0`;
}

/** Entries without an attempt have class 0, retried and parked ones class 1. An index uses the same text. */
export function triedLast(alias: string = ""): string {
  return `case when ${isUntried(alias)} then 0 else 1 end`;
}

/** The gate of a row in a form that an index supports: a row without a gate is always due. */
export function gate(dialect: Dialect, column: Sql): Sql {
  return dialect.pick({
    postgres: sql`coalesce(${column}, '-infinity'::timestamptz)`,
    sqlite: sql`coalesce(${column}, 0)`,
  });
}

/**
 * The place of a row with a priority: as if its gate had opened that many minutes earlier, so that no row waits forever. A row
 * that a worker has is placed by its gate: claims would otherwise read past every running row of a high priority. An index uses
 * the same text, and PostgreSQL indexes such a difference only without a time zone.
 */
export function byPriority({ pick }: Pick<Dialect, "pick">, alias: string = ""): string {
  const minutes = `case when ${alias}owner is null then ${alias}priority else 0 end`;
  return pick({
    postgres: `coalesce((${alias}next_attempt_at at time zone 'UTC') - ${minutes} * interval '1 minute', '-infinity'::timestamp)`,
    sqlite: `coalesce(${alias}next_attempt_at, 0) - ${minutes} * 60000`,
  });
}

/** An instant as it is compared with `byPriority`. */
export function placeOf(dialect: Dialect, instant: Sql): Sql {
  return dialect.pick({ postgres: sql`(${instant} at time zone 'UTC')`, sqlite: instant });
}

/** The gate of a row without one. */
export const NEVER_GATE = { postgres: "'-infinity'::timestamptz", sqlite: "0" } as const;

/** `claimToken` as SQL: the next claim count and a random number. */
function nextToken(): Sql {
  return sql`(((c.token >> 32) + 1) << 32) + cast(${draw()} as bigint)`;
}

/**
 * The token of a row that is inserted as claimed. Its random number makes it unlike that of another row with the same id: a
 * database that went back in time issues the same number of a sequence again.
 */
export function firstToken(): Sql {
  return sql`cast(${claimToken(1, draw())} as bigint)`;
}

/** One claim. */
export interface Held {
  readonly id: string;
  readonly token: number;
}

/** Claims as a relation, for the fence `holding`. */
const HELD: Readonly<Record<NonNullable<Claimable["idType"]>, Fields<Held>>> = {
  text: fields<Held>({ row_id: text((held) => held.id), row_token: bigint((held) => held.token) }),
  uuid: fields<Held>({ row_id: uuid((held) => held.id), row_token: bigint((held) => held.token) }),
  bigint: fields<Held>({ row_id: bigint((held) => held.id), row_token: bigint((held) => held.token) }),
};

/** What a renewal writes besides: values of each claim, and assignments that read them from `r`. */
export interface TakenAlong<Claim> {
  readonly values: Fields<Claim>;
  readonly set: Sql;
}

/** Renews claims. A row that is not returned was lost: its token is outdated. */
export function renewStatement<Claim extends Held>(
  dialect: Dialect,
  queue: Claimable,
  held: readonly Claim[],
  leaseMs: number,
  returning: Sql,
  still: Sql = raw("true"),
  along?: TakenAlong<Claim>,
): Sql {
  const id = raw(queue.id);
  const claims = HELD[queue.idType ?? "text"];
  const columns = along ? fields<Claim>({ ...claims.shape, ...along.values.shape }) : claims;
  return sql`update ${dialect.table(queue.table)} as c
    set next_attempt_at = ${dialect.plusMs(dialect.now(), leaseMs)}${along ? sql`, ${along.set}` : empty}
    from ${dialect.rows(columns, held)} where ${holding(queue, id)} and ${still} returning ${returning}`;
}

/** The time limit of a renewal: a silent connection must be detected before the lease ends. */
export function renewalLimitMs(leaseMs: number): number {
  return Math.max(1_000, leaseMs / 4);
}

/**
 * The fence of every settle: this row, this token, a state that may still be left. The row is found by its id: the
 * empty text keeps planners from scanning the index of all open rows instead.
 */
export function holding(queue: Claimable, id: Sql): Sql {
  return sql`c.${id} = r.row_id and c.token = r.row_token and c.status || '' in (${literals(queue.states)})`;
}
