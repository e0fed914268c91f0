/** Looks at the tables from outside, through a connection of its own, as another process would. */
import type { Database, Row } from "../../../src/storage/database.ts";
import { raw, sql } from "../../../src/storage/sql.ts";
import type { TestDatabase } from "../../support/databases.ts";

export interface Onlooker {
  /** The saga's own row; instants are milliseconds since the epoch. */
  row(id: string): Promise<Row>;
  /** What happened, as a person reads it in the database: `reserve act STARTED`. */
  history(id: string): Promise<readonly string[]>;
  /** Every line of the log, those of Amends itself included. */
  lines(id: string): Promise<readonly string[]>;
  /** How many sagas there are. */
  count(): Promise<number>;
  /** The events in the outbox, oldest first: `type payload`. */
  events(): Promise<readonly string[]>;
  readonly db: Database;
}

export async function onlooker(database: TestDatabase): Promise<Onlooker> {
  const db = await database.open();
  const { dialect } = db;
  const table = (name: string) => dialect.table(name);
  const said = (row: Row): string =>
    `${String(row["step_name"])} ${String(row["action"])} ${String(row["status"])}`;
  return {
    db,
    async row(id) {
      const gate = dialect.epochMs(raw("next_attempt_at"));
      const [row] = await db.query(
        sql`select c.*, ${gate} as gate_ms from ${table("saga_executions")} as c where id = ${id}`,
      );
      return row ?? {};
    },
    async history(id) {
      const rows = await db.query(
        sql`select step_name, action, status from ${table("saga_history")} where saga_id = ${id} and substr(step_name, 1, 1) <> '$' order by id, part`,
      );
      return rows.map(said);
    },
    async lines(id) {
      const rows = await db.query(
        sql`select step_name, action, status from ${table("saga_logs")} where saga_id = ${id} order by id`,
      );
      return rows.map(said);
    },
    async count() {
      const [row] = await db.query(sql`select count(*) as n from ${table("saga_executions")}`);
      return Number(row?.["n"]);
    },
    async events() {
      const rows = await db.query(
        sql`select name, payload from ${table("outbox")} where kind = 'event' order by entry_id`,
      );
      return rows.map((row) => `${String(row["name"])} ${String(row["payload"])}`);
    },
  };
}
