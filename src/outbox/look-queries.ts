/** What a worker's look reads of the outbox: the milliseconds until the first entry may be claimed, null if there is none. */
import { CLAIMABLE } from "../core/outbox/machine.ts";
import { freshFirst, gate, triedLast } from "../storage/claim.ts";
import type { Dialect } from "../storage/database.ts";
import { leastOfLanes } from "../storage/lanes.ts";
import { untilInstant } from "../storage/read/next-due.ts";
import { join, literals, raw, sql, type Sql } from "../storage/sql.ts";
import { claimPlace, HAS_LANE } from "./queries.ts";

const isOpen = sql`due.status in (${literals(CLAIMABLE)})`;

/** Entries of these lanes. */
export function untilLaneDue(dialect: Dialect, kind: "call" | "delivery", lanes: readonly string[]): Sql {
  return untilInstant(dialect, leastOfLanes(dialect, { names: lanes }, firstOfEach(dialect, kind)));
}

/** The gates of the first fresh entry and the first retry of a lane: each has its own range of the index. */
export function firstOfEach(
  dialect: Dialect,
  kind: "call" | "delivery",
  lane: Sql = raw("r.lane"),
): readonly Sql[] {
  const gated = gate(dialect, raw("due.next_attempt_at"));
  return ["0", "1"].map(
    (rank) => sql`select ${gated} from ${dialect.table("outbox")} as due
      where due.kind = ${literals([kind])} and ${HAS_LANE} and due.lane = ${lane} and ${isOpen}
        and ${raw(freshFirst("due.attempts"))} = ${raw(rank)}
      order by ${gated}, due.entry_id limit 1`,
  );
}

/** Entries of subjects' requests: untried ones and the others have their own range of their index. */
export function untilErasureDue(dialect: Dialect): Sql {
  const place = claimPlace(dialect, "due.");
  const gated = gate(dialect, raw("due.next_attempt_at"));
  const firsts = ["0", "1"].map(
    (rank) => sql`select * from (select ${place} as place from ${dialect.table("outbox")} as due
      where due.kind = 'erasure' and ${isOpen} and ${raw(triedLast("due."))} = ${raw(rank)}
      order by ${place}, ${gated}, due.entry_id limit 1) as first_${raw(rank)}`,
  );
  return untilInstant(
    dialect,
    sql`(select min(firsts.place) from (${join(firsts, " union all ")}) as firsts)`,
  );
}
