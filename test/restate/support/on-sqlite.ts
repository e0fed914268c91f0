/** The stories on SQLite, in this process. */
import type { Amends, SagaView } from "../../../src/index.ts";
import type { Entry } from "../../../src/core/saga/entry.ts";
import type { Database } from "../../../src/storage/database.ts";
import { raw, sql } from "../../../src/storage/sql.ts";
import type { Ledger } from "./ledger.ts";
import type { Engine } from "./play.ts";

export function onSqlite(amends: Amends, database: Database, ledger: Ledger): Engine {
  return {
    ledger,
    async start({ saga }, id) {
      const run = await amends.start(saga, {}, { id });
      return {
        signal: (type, payload, signalId) =>
          amends.signal(id, type, payload, signalId === undefined ? {} : { id: signalId }),
        cancel: (note) => amends.cancel(id, note),
        retry: (note) => amends.retry(id, note),
        skip: (step, note) => amends.skip(id, step, note),
        resolve: (as, note) => amends.resolve(id, as, note),
        result: async () => (await amends.get(run.id)).result(),
      };
    },
    view: async (_, id) => (await amends.inspect(id)) as SagaView,
    async lines(_, id) {
      const table = database.dialect.table("saga_logs");
      const rows = await database.query(
        sql`select ${raw("step_name, action, status, details, next_step, next_action")} from ${table} where saga_id = ${id} order by id`,
      );
      return rows.map(
        (row) =>
          ({
            step: row["step_name"],
            action: row["action"],
            status: row["status"],
            details: row["details"],
            next: row["next_step"] ? { step: row["next_step"], action: row["next_action"] } : undefined,
          }) as Entry,
      );
    },
  };
}
