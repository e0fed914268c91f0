/** What the doctor asks a database about itself, and how it would carry out the statements that run all the time. */
import { OUTBOX_KINDS } from "../../core/outbox/entry.ts";
import { claimEntries } from "../../outbox/queries.ts";
import { ENTRY } from "../../outbox/rows.ts";
import { claimSagas, countOpenKinds } from "../../sagas/journal/queries.ts";
import { claimDeliveries } from "../../events/store/queries.ts";
import { selectDueSagas } from "../../operate/backlog-queries.ts";
import { anythingDue } from "../../webhooks/orchestrator/queries.ts";
import { leaseJobs } from "../../webhooks/jobs/queries.ts";
import { CLAIMABLE } from "../../core/saga/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";

export { countOpenKinds, selectDueSagas };

export function selectClock(dialect: Dialect): Sql {
  return sql`select ${dialect.epochMs(dialect.now())} as now_at`;
}

const SETTINGS = [
  "server_version",
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "statement_timeout",
  "lock_timeout",
  "idle_in_transaction_session_timeout",
  "max_connections",
];

export function selectSettings(): Sql {
  return sql`select s.name, current_setting(s.name) as setting from unnest(array[${literals(SETTINGS)}]) as s(name)`;
}

/** How many are connected to the server, this program included. */
export function countConnections(): Sql {
  return sql`select count(*) as connections from pg_stat_activity where backend_type = 'client backend'`;
}

export function readPragma(
  name: "journal_mode" | "synchronous" | "secure_delete" | "busy_timeout" | "foreign_keys",
): Sql {
  return raw(`pragma ${name}`);
}

export function selectSqliteVersion(): Sql {
  return sql`select sqlite_version() as version`;
}

/** Workers that hold a saga under a live lease. */
export function countOwners(dialect: Dialect): Sql {
  return sql`select count(distinct c.owner) as owners from ${dialect.table("saga_executions")} as c
    where c.status in (${literals(CLAIMABLE)}) and c.owner is not null and c.next_attempt_at > ${dialect.now()}`;
}

/** The statements that a worker repeats for as long as it runs. They are explained here, never carried out. */
export function hotStatements(dialect: Dialect): readonly (readonly [name: string, statement: Sql])[] {
  const [limit, leaseMs, owner] = [10, 60_000, "doctor"];
  return [
    ["claim of sagas", claimSagas(dialect, [{ name: "any", version: 1 }], limit, owner, leaseMs)],
    ...OUTBOX_KINDS.map(
      (kind) =>
        [
          `claim of the outbox (${kind})`,
          claimEntries(dialect, ENTRY, { kind, names: ["any"], limit, leaseMs }),
        ] as const,
    ),
    [
      "claim of events",
      claimDeliveries(dialect, { deliverable: ["any@1"], routable: ["any@1"] }, limit, leaseMs),
    ],
    ["due webhooks", sql`select ${anythingDue(dialect)} as due`],
    ["lease of webhook jobs", leaseJobs(dialect, limit, leaseMs, owner)],
    ["backlog", selectDueSagas(dialect, limit)],
  ];
}

export function explain(dialect: Dialect, statement: Sql): Sql {
  return dialect.name === "postgres"
    ? sql`explain (format json) ${statement}`
    : sql`explain query plan ${statement}`;
}

/** How large the planner takes a table to be. */
export function tableSizes(schema: string): Sql {
  return sql`select c.relname as name, c.reltuples::float8 as rows from pg_class as c
    join pg_namespace as n on n.oid = c.relnamespace where n.nspname = ${schema} and c.relkind = 'r'`;
}

export function brokenIndexes(schema: string): Sql {
  return sql`select c.relname as name from pg_index as i join pg_class as c on c.oid = i.indexrelid
    join pg_namespace as n on n.oid = c.relnamespace where n.nspname = ${schema} and not i.indisvalid`;
}
