/** Looking at what happened: the rows of the outbox and the runs, and waiting for a run to rest. */
import type { Amends } from "amends";
import type { FlowView } from "amends/events";
import type { Database } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";
import { until } from "../../support/until.ts";

/** Everything that was sent, in order, as `Event` or `Event > Handler`, with its state where it has not succeeded. */
export async function sent(db: Database): Promise<string[]> {
  const rows = await db.query(
    sql`select name, handler, status from ${db.dialect.table("outbox")} where event_id is not null order by enqueued_at, event_id, entry_id`,
  );
  return rows.map((row) => {
    const to = row["handler"] === null ? "" : ` > ${row["handler"] as string}`;
    const isUsual = row["status"] === (row["handler"] === null ? "pending" : "succeeded");
    return `${row["name"] as string}${to}${isUsual ? "" : ` (${row["status"] as string})`}`;
  });
}

export { until as waitFor } from "../../support/until.ts";

/** The newest run of a process, once it is in one of these states. */
export function runIn(
  amends: Amends,
  saga: Parameters<Amends["events"]["runs"]>[0],
  processId: string,
  ...statuses: FlowView["status"][]
): Promise<FlowView> {
  return until(async () => {
    const [view] = await amends.events.runs(saga, processId);
    return view && statuses.includes(view.status) && view;
  });
}
