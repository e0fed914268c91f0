/** The guide names every column of Amends' own tables that may hold personal data and that an erasure does not reach. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { raw } from "../../src/storage/sql.ts";
import { root } from "../../tools/project.mjs";
import { onDatabase } from "../support/databases.ts";

const guide = readFileSync(path.join(root, "docs/guides/erasure.md"), "utf8");

/** The rows of the guide's table: `| \`table\` | \`column\`, \`column\` | … |`. */
const told = new Set(
  [...guide.matchAll(/^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(([, table = "", columns = ""]) =>
    [...columns.matchAll(/`(\w+)`/g)].map(([, column = ""]) => `${table}.${column}`),
  ),
);

/** Columns that Amends makes itself, or that hold names and settings of the program, never data of a person. */
const OURS: Readonly<Record<string, string>> = {
  audit_events: "id type hash",
  audit_head: "hash",
  dead_letters: "status error_code",
  limit_starts: "queue name",
  limit_turns: "queue",
  pauses: "queue name",
  event_handlers: "event handler kind saga step recipient",
  migrations: "name checksum",
  bulk_actions: "action kind status",
  operator_actions: "outcome action target_kind code",
  outbox:
    "entry_id kind lane name operation ref_kind slot saga_id event_id handler causation verification status traceparent",
  saga_archive: "name status plan",
  refused_writes: "id operation code state owner",
  saga_executions: "name kind status plan owner awaits error_label parent_step",
  saga_attributes: "name saga_name status",
  saga_interests: "event_type field step_name",
  saga_kinds: "kind name plan",
  lost_sagas: "name",
  saga_logs: "step_name action status next_step next_action",
  saga_signals: "name",
  saga_state:
    "saga_id saga_type status completed_steps undo_steps late_steps answers error error_label trigger_id trail",
  subjects: "last_error last_note",
  webhook_attempts: "report verdict code",
  webhook_delivery_sagas: "status final_error_code",
  schedules: "cron timezone saga lane overlap missed",
  schedule_ticks: "outcome ended",
  webhook_events: "type traceparent",
  webhook_jobs: "status owner report",
  webhook_lanes: "disable_reason",
  webhook_subscriptions: "status events secrets secret_ends",
  webhook_subscription_types: "pattern",
  workers: "owner",
};

onDatabase("sqlite", (database) => {
  it("[E-10] every column of Amends that may hold personal data is in the guide's list of what an erasure does not reach", async () => {
    const db = await database.open();
    const tables = await db.query(
      raw("select name from sqlite_master where type = 'table' and name like 'amends_%'"),
    );
    const missing: string[] = [];
    const columns = new Set<string>();
    for (const { name } of tables) {
      const table = String(name).replace("amends_", "");
      const ours = new Set((OURS[table] ?? "").split(" "));
      for (const row of await db.query(raw(`select name, type from pragma_table_info('${String(name)}')`))) {
        const column = String(row["name"]);
        columns.add(`${table}.${column}`);
        const isText = /text|char|uuid/i.test(String(row["type"])) || row["type"] === "";
        if (isText && !ours.has(column) && !told.has(`${table}.${column}`))
          missing.push(`${table}.${column}`);
      }
    }
    expect(missing).toEqual([]);
    expect([...told].filter((column) => !columns.has(column))).toEqual([]);
  });
});
