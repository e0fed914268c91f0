/**
 * Forgets what has long ended, in bounded batches, each in a transaction of its own. What is open stays, and so does a
 * dead letter that nobody has settled: it still asks for a person.
 */
import { deadLetterMachine, deliveryMachine } from "../core/delivery/machine.ts";
import type { Dialect, Session } from "../storage/database.ts";
import { literals, raw, sql, type Sql } from "../storage/sql.ts";
import { deleteJobs } from "./deliver/job-queries.ts";

export interface Pruned {
  readonly deliveries: number;
  readonly events: number;
}

/** `batchesMax` bounds how long it takes; what is left is for the next time. Each batch is one transaction. */
export async function prune(
  transact: (work: (session: Session) => Promise<number>) => Promise<number>,
  olderThanMs: number,
  batchesMax: number,
  batch: number = 500,
): Promise<Pruned> {
  const repeat = async (work: (session: Session) => Promise<number>): Promise<number> => {
    let total = 0;
    for (let done = 0; done < batchesMax; done++) {
      const count = await transact(work);
      total += count;
      if (count < batch) break;
    }
    return total;
  };
  const deliveries = await repeat((session) => pruneDeliveries(session, olderThanMs, batch));
  const events = await repeat((session) => pruneEvents(session, olderThanMs, batch));
  return { deliveries, events };
}

async function pruneDeliveries(session: Session, olderThanMs: number, batch: number): Promise<number> {
  const { dialect } = session;
  const rows = await session.query(endedBefore(dialect, olderThanMs, batch));
  const ids = rows.map((row) => String(row["id"]));
  if (ids.length === 0) return 0;
  const of = (table: string, column: string): Sql =>
    sql`delete from ${dialect.table(table)} where ${dialect.among(raw(column), ids, "bigint")}`;
  await session.query(deleteJobs(dialect, ids));
  for (const table of ["webhook_attempts", "dead_letters"]) await session.query(of(table, "saga_id"));
  await session.query(of("webhook_delivery_sagas", "id"));
  return ids.length;
}

function endedBefore(dialect: Dialect, olderThanMs: number, batch: number): Sql {
  return sql`select s.id from ${dialect.table("webhook_delivery_sagas")} as s
    where s.status in (${literals(deliveryMachine.terminal)}) and s.updated_at <= ${before(dialect, olderThanMs)}
      and not exists (select 1 from ${dialect.table("dead_letters")} as d
        where d.saga_id = s.id and d.status in (${literals(deadLetterMachine.sources("requeue"))}))
    order by s.updated_at, s.id limit ${batch}`;
}

/** An event goes once nothing is left that was owed because of it. */
async function pruneEvents(session: Session, olderThanMs: number, batch: number): Promise<number> {
  const { dialect } = session;
  const rows = await session.query(sql`select e.id from ${dialect.table("webhook_events")} as e
    where e.created_at <= ${before(dialect, olderThanMs)}
      and not exists (select 1 from ${dialect.table("webhook_delivery_sagas")} as s where s.event_id = e.id)
    order by e.created_at, e.id limit ${batch}`);
  const ids = rows.map((row) => String(row["id"]));
  if (ids.length > 0)
    await session.query(
      sql`delete from ${dialect.table("webhook_events")} where ${dialect.among(raw("id"), ids, "bigint")}`,
    );
  return ids.length;
}

function before(dialect: Dialect, ms: number): Sql {
  return dialect.plusMs(dialect.now(), -ms);
}
