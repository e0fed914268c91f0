/** The one statement that live updates cost, once a second for all browsers together. */
import { CLAIMABLE, sagaMachine } from "../../core/saga/machine.ts";
import { OPEN_FLOWS } from "../../core/flow/machine.ts";
import { OUTBOX_KINDS } from "../../core/outbox/entry.ts";
import { CLAIMABLE as DUE } from "../../core/outbox/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { attentionCount } from "../attention/queries.ts";
import type { Part } from "../contract.ts";
import { NIL } from "../outbox/queries.ts";
import { inState, someOpen } from "../sagas/queries.ts";

const LINE = ["id", "name", "status", "plan", "token", "created_at", "updated_at"];
const ENDED = sagaMachine.states.filter((state) => !CLAIMABLE.includes(state));
/** Of more open sagas than these, the changes of some are not told: whoever looks at one watches it. */
const OPEN_MAX = 1_000;

/**
 * Sagas that changed since an instant, how much needs a person, a sign of how each other part stands, and how far those
 * sagas have come that somebody watches. Each kind of row says in `what` which of these it is.
 */
export function selectNews(
  dialect: Dialect,
  sinceMs: number,
  watched: readonly string[],
  { changes, attention }: { readonly changes: number; readonly attention: number },
): Sql {
  const table = dialect.table("saga_executions");
  const logs = dialect.table("saga_logs");
  const none = raw("null as name, null as status, null as plan, null as token, null as created_at");
  const columns = (of: string): Sql => raw(LINE.map((name) => `${of}.${name}`).join(", "));
  const recent = (of: string): Sql =>
    sql`${raw(of)}.updated_at > ${dialect.instantOf(sinceMs)} order by ${raw(of)}.updated_at desc, ${raw(of)}.id desc limit ${changes}`;
  const walks = ENDED.map(
    (status) =>
      sql`select * from (select ${columns("c")} from ${table} as c where ${inState(status)} and ${recent("c")}) as walk`,
  );
  walks.push(
    sql`select * from (select ${columns("d")} from ${someOpen(dialect, OPEN_MAX)} as d where ${recent("d")}) as walk`,
  );
  const [created, updated] = ["created_at", "updated_at"].map((name) => dialect.epochMs(raw(`u.${name}`)));
  const changed = sql`select 'saga' as what, u.id, u.name, u.status, u.plan, u.token,
      ${created} as created_at, ${updated} as updated_at, 0 as number
    from (${join(walks, " union all ")}) as u`;
  const counted = sql`select 'attention' as what, '' as id, ${none}, ${dialect.epochMs(dialect.now())} as updated_at,
      ${attentionCount(dialect, attention)} as number`;
  const versions = sql`select 'watched' as what, l.saga_id as id, ${none}, null as updated_at, max(l.id) as number
    from ${logs} as l where ${dialect.among(raw("l.saga_id"), watched)} group by l.saga_id`;
  const signs = Object.entries(partSigns(dialect)).map(
    ([
      part,
      sign,
    ]) => sql`select 'part' as what, ${literals([part])} as id, ${sign} as name, null as status, null as plan,
      null as token, null as created_at, null as updated_at, 0 as number`,
  );
  return join([changed, counted, ...signs, ...(watched.length > 0 ? [versions] : [])], " union all ");
}

/** Of so many open rows the progress is seen; of what ended or is new, the newest always. */
const PROGRESS_MAX = 100;
const WORKED_ON = OUTBOX_KINDS.filter((kind) => kind !== "event");

/** For each other part a text that is another one once something has changed there. */
function partSigns(dialect: Dialect): Readonly<Record<Exclude<Part, "sagas">, Sql>> {
  const [outbox, state] = [dialect.table("outbox"), dialect.table("saga_state")];
  const text = (value: Sql): Sql => sql`coalesce(cast(${value} as text), '')`;
  // From the lowest key on: so each database sees that the end of the key is all that it has to look at.
  const newest = (table: string, id: string, lowest: Sql): Sql =>
    text(
      sql`(select n.${raw(id)} from ${dialect.table(table)} as n where n.${raw(id)} > ${lowest} order by n.${raw(id)} desc limit 1)`,
    );
  const due = WORKED_ON.map(
    (kind) => sql`select * from (select c.token, c.attempts from ${outbox} as c
      where c.kind = ${literals([kind])} and c.status in (${literals(DUE)}) limit ${PROGRESS_MAX}) as walk`,
  );
  const open = sql`(select o.version from ${state} as o where o.status in (${literals(OPEN_FLOWS)})
    order by o.saga_type, o.process_id limit ${PROGRESS_MAX})`;
  const spaced = (values: readonly Sql[]): Sql => join(values, " || ' ' || ");
  const progress = (relation: Sql, column: string): Sql =>
    text(sql`(select count(*) || ' ' || coalesce(sum(${raw(column)}), 0) from ${relation} as counted)`);
  return {
    outbox: spaced([
      newest("outbox", "entry_id", literals([NIL])),
      progress(sql`(${join(due, " union all ")})`, "counted.token + counted.attempts"),
    ]),
    erasures: newest("audit_events", "seq", raw("0")),
    flows: spaced([newest("saga_state", "saga_id", literals([""])), progress(open, "counted.version")]),
    webhooks: spaced([
      newest("webhook_delivery_sagas", "id", raw("0")),
      newest("webhook_attempts", "id", raw("0")),
    ]),
  };
}
