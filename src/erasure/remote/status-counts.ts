/** The number of entries in each status, from one query. */
import { outboxMachine, type OutboxStatus } from "../../core/outbox/machine.ts";
import { persist } from "../../storage/retry.ts";
import type { PartContext } from "../../runtime/part.ts";
import { countStatuses, STATUS_COUNT } from "../../outbox/queries.ts";

/** The number of entries in each status. */
export type StatusCounts = Readonly<Record<OutboxStatus, number>>;

/** Another source of the counts, such as a replica or a cache. */
export interface StatusCountsSource {
  /** Returns a count for every status. */
  statusCounts(): Promise<StatusCounts>;
}

export function databaseCounts({ database }: Pick<PartContext, "database">): StatusCountsSource {
  return {
    async statusCounts() {
      const rows = await persist(database, () => database.query(countStatuses(database.dialect, "erasure")));
      const counts = Object.fromEntries(outboxMachine.states.map((status) => [status, 0]));
      for (const row of rows) {
        const { status, entries } = STATUS_COUNT.read(row);
        counts[status] = entries;
      }
      return counts as StatusCounts;
    },
  };
}
