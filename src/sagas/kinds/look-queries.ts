/** What a worker's look reads of sagas. */
import { CLAIMABLE } from "../../core/saga/machine.ts";
import { byPriority, placeOf } from "../../storage/claim.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { isPausedLane, limitedLanes } from "../../storage/limits/lane.ts";
import { pausedNames } from "../../storage/pauses/queries.ts";
import { isPausedKind, kindOfLane, openLanes } from "./queries.ts";

/** The sagas of a kind that lost a worker and are read: the claim looks itself if there are more. */
const RECOVERING_MAX = 50;

/**
 * The milliseconds until the first saga of each open kind is due, 0 if one is, as the text of a JSON object; those of its lanes of
 * limits by key are one entry. A place in the order of claims is never after its gate, so that the answer is never too late. What is
 * paused is not in it. The paused names follow: both are the text of one JSON list.
 */
export function untilByKind(dialect: Dialect): Sql {
  const place = raw(byPriority(dialect, "c."));
  const now = placeOf(dialect, dialect.now());
  const ofKind = (
    recoveries: Sql,
  ): Sql => sql`select ${place} as place from ${dialect.table("saga_executions")} as c
    where c.status in (${literals(CLAIMABLE)}) and c.kind = lanes.lane and c.recovery_attempts ${recoveries}
      and c.excluded_at is null order by c.recovery_attempts, ${place}, c.id`;
  const healthy = sql`select * from (${ofKind(raw("= 0"))} limit 1) as first`;
  const recovering = sql`select case when count(*) < ${raw(String(RECOVERING_MAX))} then min(first.place) else ${now} end
    from (${ofKind(raw("> 0"))} limit ${raw(String(RECOVERING_MAX))}) as first`;
  const until = sql`(select case when min(firsts.place) <= ${now} then 0
      else ${dialect.epochMs(raw("min(firsts.place)"))} - ${dialect.epochMs(now)} end
    from (${healthy} union all ${recovering}) as firsts)`;
  const kind = kindOfLane(dialect);
  const lane = sql`case when lanes.lane = ${kind} then lanes.lane else ${limitedLanes(kind)} end`;
  const object = raw(dialect.pick({ postgres: "json_object_agg", sqlite: "json_group_object" }));
  const isPaused = sql`(${isPausedLane(dialect, raw("lanes.lane"))} or ${isPausedKind(dialect)(raw("lanes.lane"))})`;
  const untils = sql`(with recursive ${openLanes(dialect)}
    select cast(${object}(lane_kinds.kind, lane_kinds.until) as text) from (
      select ${lane} as kind, min(${until}) as until from lanes
      where lanes.lane is not null and not ${isPaused} group by 1) as lane_kinds)`;
  return sql`('[' || coalesce(${untils}, '{}') || ',' || ${pausedNames(dialect, "sagas")} || ']')`;
}
