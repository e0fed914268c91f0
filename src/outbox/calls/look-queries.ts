/** What a worker's look reads of calls: until when those without limits by key have to wait, and those with limits. */
import { text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { behindKind } from "../../storage/limits/lane.ts";
import { join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { firstOfEach } from "../look-queries.ts";
import { isPausedCall, LIMITED_CALLS } from "../queries.ts";

/** The lanes of one call that a look reads. With more, it counts them as due: the claim looks itself. */
const LANE_MAX = 100;

const NAME = fields<string>({ name: text((name) => name) });

/**
 * The milliseconds until the first call without limits may be claimed, and until the first one with limits, if only its gate held
 * it back: the text of a JSON object. 0 stands for one that is due. Paused calls are not in it.
 */
export function untilCallDue(dialect: Dialect, names: readonly string[]): Sql {
  const now = dialect.now();
  const lane = raw("lanes.lane");
  const gates = firstOfEach(dialect, "call", lane).map((first) => sql`select (${first}) as gate`);
  const until = sql`(select case when lanes.place = ${raw(String(LANE_MAX))} or min(firsts.gate) <= ${now} then 0
      else ${dialect.epochMs(raw("min(firsts.gate)"))} - ${dialect.epochMs(now)} end from (${join(gates, " union all ")}) as firsts)`;
  const object = raw(dialect.pick({ postgres: "json_object_agg", sqlite: "json_group_object" }));
  // The column `lane` has a collation of its own.
  const plain = raw(dialect.pick({ postgres: 'r.name collate "C"', sqlite: "r.name" }));
  const next = sql`(select x.lane from ${dialect.table("outbox")} as x where ${LIMITED_CALLS.isOpen("x")}
      and x.lane > ${lane} and x.lane < ${behindKind(raw("lanes.name"))} order by x.lane limit 1)`;
  return sql`(with recursive lanes(name, lane, place) as (
      select r.name, ${plain}, 0 from ${dialect.rows(NAME, names)} where not ${isPausedCall(dialect)(raw("r.name"))}
      union all
      select lanes.name, ${next}, lanes.place + 1 from lanes where lanes.lane is not null and lanes.place < ${raw(String(LANE_MAX))})
    select cast(${object}(lane_kinds.what, lane_kinds.until) as text) from (
      select case when lanes.place = 0 then ${literals(["plain"])} else ${literals(["limited"])} end as what, min(${until}) as until
      from lanes where lanes.lane is not null group by 1) as lane_kinds)`;
}

/** The same in a statement of its own. */
export function selectUntilCallDue(dialect: Dialect, names: readonly string[]): Sql {
  return sql`select ${untilCallDue(dialect, names)} as until`;
}
