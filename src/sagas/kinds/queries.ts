/**
 * The kinds of open sagas, and the kinds that workers can run. A kind is a name, a version and the digest of a list of steps; a
 * worker reports each minute which kinds it can run.
 */
import { CLAIMABLE } from "../../core/saga/machine.ts";
import { flag, int, optional, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { lanesInUse } from "../../storage/lanes.ts";
import { before, behindKind, behindLimits, kindOfLanes } from "../../storage/limits/lane.ts";
import { isPausedName } from "../../storage/pauses/queries.ts";
import type { Selection } from "../../storage/read/selection.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";

/** The first lane of each kind of open sagas, as `lanes(lane)`: the lanes of its limits by key follow it. */
export function openKinds(dialect: Dialect): Sql {
  const isOpen = sql`x.status in (${literals(CLAIMABLE)})`;
  const next = (lane: Sql): Sql => behindKind(kindOfLanes(dialect, lane));
  return lanesInUse({ table: dialect.table("saga_executions"), column: "kind", where: isOpen, next });
}

/** The kind of `lanes.lane`. */
export function kindOfLane(dialect: Dialect): Sql {
  return kindOfLanes(dialect, raw("lanes.lane"));
}

/** A condition over a lane: a person has paused the sagas of its name. */
export function isPausedKind(dialect: Dialect): (lane: Sql) => Sql {
  return (lane) => isPausedName(dialect, "sagas", before(dialect, lane, "@"));
}

/** A kind of open sagas. All sagas of a kind have the same plan. */
export interface OpenLane {
  readonly lane: string;
  readonly name: string;
  readonly version: number;
  readonly plan: string;
  /** Some of them have limits by key. */
  readonly isLimited: boolean;
}

export const OPEN_LANE: Projection<OpenLane> = projection({
  lane: text("lane"),
  name: text("name"),
  version: int("definition"),
  plan: text("plan"),
  isLimited: flag("limited"),
});

/** One saga of the kind `lanes.lane`: the first by the index. */
function firstOf(dialect: Dialect, column: string): Sql {
  return sql`(select ${raw(`o.${column}`)} from ${dialect.table("saga_executions")} as o
    where o.status in (${literals(CLAIMABLE)}) and o.kind = lanes.lane order by o.kind, o.recovery_attempts limit 1)`;
}

export function selectOpenLanes(dialect: Dialect): Sql {
  const kind = kindOfLane(dialect);
  const limited = sql`exists (select 1 from ${dialect.table("saga_executions")} as o
    where o.status in (${literals(CLAIMABLE)}) and o.kind > ${kind} and o.kind < ${behindLimits(kind)})`;
  return sql`with recursive ${openKinds(dialect)}
    select ${kind} as lane, case when ${limited} then 1 else 0 end as limited, ${firstOf(dialect, "name")} as name, ${firstOf(dialect, "definition")} as definition,
      ${firstOf(dialect, "plan")} as plan
    from lanes where lanes.lane is not null`;
}

/** A kind that a worker can run. */
export interface ServedKind {
  readonly kind: string;
  readonly name: string;
  readonly version: number;
  readonly plan: string;
}

const SERVED = fields<ServedKind>({
  kind: text((one) => one.kind),
  name: text((one) => one.name),
  definition: int((one) => one.version),
  plan: text((one) => one.plan),
});

/** Reports that a worker can run these kinds now. */
export function reportServed(dialect: Dialect, kinds: readonly ServedKind[]): Sql {
  return sql`insert into ${dialect.table("saga_kinds")} (${SERVED.names}, seen_at)
    select ${SERVED.list("r")}, ${dialect.now()} from ${dialect.rows(SERVED, kinds)} where true
    on conflict (kind) do update set seen_at = excluded.seen_at`;
}

/** A kind that no worker has been able to run for this long needs a person. */
export const UNSERVED_MS = 600_000;

/** A condition: a worker has been able to run this definition lately. `$` is the character after `#`. */
export function isServed(dialect: Dialect, name: Sql, version: Sql): Sql {
  const kind = sql`${name} || '@' || cast(${version} as text)`;
  return sql`exists (select 1 from ${dialect.table("saga_kinds")} as g where g.kind >= ${kind} || '#'
    and g.kind < ${kind} || '$' and ${dialect.plusMs(raw("g.seen_at"), UNSERVED_MS)} > ${dialect.now()})`;
}

/** The number of sagas of a kind that are counted. */
const COUNT_MAX = 1_000;

/** Kinds of open sagas that no worker has been able to run for a time. Rows of the storage contract have no definition. */
export function unservedRows(dialect: Dialect): Selection {
  const kinds = dialect.table("saga_kinds");
  const kind = kindOfLane(dialect);
  const counted = sql`(select count(*) from (select 1 from ${dialect.table("saga_executions")} as o
    where o.status in (${literals(CLAIMABLE)}) and o.kind >= ${kind} and o.kind < ${behindKind(kind)} limit ${raw(String(COUNT_MAX))}) as listed)`;
  // `$` is the character after `#`.
  const known = sql`(select g.plan from ${kinds} as g where g.kind >= k.name || '@' || cast(k.definition as text) || '#'
    and g.kind < k.name || '@' || cast(k.definition as text) || '$' and ${dialect.plusMs(raw("g.seen_at"), UNSERVED_MS)} > ${dialect.now()} order by g.seen_at desc limit 1)`;
  return {
    from: sql`(with recursive ${openKinds(dialect)} select ${kind} as lane, ${firstOf(dialect, "name")} as name,
        ${firstOf(dialect, "definition")} as definition, ${firstOf(dialect, "plan")} as plan, ${counted} as sagas,
        coalesce((select g.seen_at from ${kinds} as g where g.kind = ${kind}), ${firstOf(dialect, "created_at")}) as since
      from lanes where lanes.lane is not null) as k`,
    where: sql`k.definition > 0 and ${dialect.plusMs(raw("k.since"), UNSERVED_MS)} <= ${dialect.now()}`,
    at: raw("k.since"),
    id: raw("k.lane"),
    columns: sql`k.lane, k.name, k.definition, k.plan, k.sagas, ${known} as known_plan`,
  };
}

export interface UnservedRow extends Omit<OpenLane, "isLimited"> {
  readonly sagas: number;
  /** The plan of a worker that has the same name and version. */
  readonly knownPlan: string | undefined;
}

export const UNSERVED: Projection<UnservedRow> = projection({
  lane: text("lane"),
  name: text("name"),
  version: int("definition"),
  plan: text("plan"),
  sagas: int("sagas"),
  knownPlan: optional(text("known_plan")),
});
