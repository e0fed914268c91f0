/**
 * The chores of retention: for each policy, the part that owns the rows removes one batch, in a separate transaction.
 * The owner of the rows decides what is removed.
 */
import { removeBulks } from "../../bulk/retention.ts";
import { removeRuns } from "../../events/retention.ts";
import { runExists } from "../../events/retention-queries.ts";
import { EntryRetention } from "../../outbox/retention/retention.ts";
import { forgetArchived } from "../../sagas/retention/archive.ts";
import { expiredSagas, removeSagas, type Expiry } from "../../sagas/retention/retention.ts";
import type { SagaView } from "../../sagas/view/view.ts";
import type { Session } from "../../storage/database.ts";
import { prune } from "../../webhooks/retention.ts";
import type { CheckedPolicy } from "./policy.ts";

/** One transaction with the role that may delete, repeated after a transient error. */
export type Transact = <T>(work: (session: Session) => Promise<T>) => Promise<T>;

export interface Swept {
  readonly removed: number;
  /** There may be more: the next batch follows at once. */
  readonly more: boolean;
}

export type Chore = () => Promise<Swept>;

export interface ChoreTools {
  readonly transact: Transact;
  readonly batch: number;
  readonly inspect: (id: string) => Promise<SagaView | undefined>;
}

export function choresOf(policy: CheckedPolicy, tools: ChoreTools): readonly Chore[] {
  const { archivedMs, doneMs, untakenMs, webhooksMs, bulkMs } = policy;
  const { transact, batch } = tools;
  /** A chore that removes up to a batch in one transaction. */
  const removing =
    (remove: (session: Session) => Promise<number>): Chore =>
    async () => {
      const removed = await transact(remove);
      return { removed, more: removed >= batch };
    };
  const chores = policy.sagas.map(([status, afterMs]) =>
    sagaChore(tools, policy.archive, { status, afterMs }),
  );
  if (archivedMs !== undefined)
    chores.push(removing((session) => forgetArchived(session, archivedMs, batch)));
  for (const [status, afterMs] of policy.flows)
    chores.push(removing((session) => removeRuns(session, { status, afterMs }, batch)));
  if (doneMs !== undefined || untakenMs !== undefined) {
    const entries = new EntryRetention({ doneMs, untakenMs }, runExists);
    chores.push(() => transact((session) => entries.sweep(session, batch)));
  }
  if (webhooksMs !== undefined) chores.push(() => webhookChore(tools, webhooksMs));
  if (bulkMs !== undefined) chores.push(removing((session) => removeBulks(session, bulkMs, batch)));
  return chores;
}

/** Nothing is locked while the user's archive function runs: an ended saga does not change. */
function sagaChore(
  { transact, batch, inspect }: ChoreTools,
  archive: CheckedPolicy["archive"],
  expiry: Expiry,
): Chore {
  return async () => {
    const ids = await transact((session) => expiredSagas(session, expiry, batch));
    if (ids.length === 0) return { removed: 0, more: false };
    if (typeof archive === "function") {
      const views: SagaView[] = [];
      for (const id of ids) {
        const view = await inspect(id);
        if (view) views.push(view);
      }
      await archive(views);
    }
    const removed = await transact((session) =>
      removeSagas(session, ids, expiry, { archive: archive === true }),
    );
    return { removed, more: ids.length >= batch };
  };
}

async function webhookChore({ transact, batch }: ChoreTools, olderThanMs: number): Promise<Swept> {
  const { deliveries, events } = await prune(transact, olderThanMs, 1, batch);
  return { removed: deliveries + events, more: Math.max(deliveries, events) >= batch };
}
