/**
 * Disables subscriptions whose receivers are gone, or have only failed for too long. The orchestrator notes which ones
 * those are and creates no job for them meanwhile; it may not change a subscription. Each notice is published in the
 * transaction that disables.
 */
import type { DisableReason } from "../../core/delivery/job.ts";
import { Chore } from "../../runtime/chore.ts";
import { lookFor } from "../../runtime/duty.ts";
import type { Database, Session } from "../../storage/database.ts";
import { ADMINISTRATOR } from "../../storage/migrations/webhook-roles.ts";
import { checkRights } from "../../storage/postgres/rights/check-rights.ts";
import { persist, type RetryLimits } from "../../storage/retry.ts";
import { clearToDisable, selectToDisable, TO_DISABLE, untilToDisable } from "../deliver/lane-queries.ts";
import type { Publisher } from "../publish/publisher.ts";
import { MOVED, moveSubscriptions } from "./queries.ts";

/** A subscription that was disabled just now. */
export interface Disabled {
  readonly id: string;
  readonly reason: DisableReason;
}

export interface AdministratorParts {
  readonly db: Database;
  readonly retryLimits: RetryLimits;
  readonly publisher: Publisher;
  readonly onDisabled: (disabled: readonly Disabled[]) => void;
}

/** The type of the event that tells of a subscription that Amends has disabled. */
export const DISABLED_EVENT = "amends.subscription.disabled";

const BATCH = 100;

export function administratorDuty(parts: AdministratorParts): Chore {
  const { db, retryLimits, onDisabled } = parts;
  return new Chore({
    name: "webhooks:administrator",
    check: () => checkRights(db, ADMINISTRATOR, "webhooks:administrator"),
    batch: BATCH,
    look: lookFor(() => untilToDisable(db.dialect)),
    run: async (limit) => {
      const disabled = await persist(db, () => disable(parts, limit), retryLimits);
      if (disabled.length > 0) onDisabled(disabled);
      return disabled.length;
    },
  });
}

async function disable({ db, publisher }: AdministratorParts, limit: number): Promise<readonly Disabled[]> {
  // Most looks find nothing: they must not cost a transaction.
  const [any] = await db.query(selectToDisable(db.dialect, 1));
  if (!any) return [];
  return db.transaction(async (session) => {
    const rows = await session.query(selectToDisable(session.dialect, limit));
    const found = rows.map((row) => TO_DISABLE.read(row));
    const done: Disabled[] = [];
    for (const { subscriptionId, reason } of found)
      if (await disableOne(session, publisher, subscriptionId, reason))
        done.push({ id: subscriptionId, reason });
    const ids = found.map(({ subscriptionId }) => subscriptionId);
    if (ids.length > 0) await session.query(clearToDisable(session.dialect, ids));
    return done;
  });
}

/** False if a person was first: the subscription is disabled or deleted already. */
async function disableOne(
  session: Session,
  publisher: Publisher,
  id: string,
  reason: DisableReason,
): Promise<boolean> {
  const [row] = await session.query(moveSubscriptions(session.dialect, "disable", [id], reason));
  if (!row) return false;
  const key = `amends-disabled-${id}-${Math.floor(MOVED.read(row).updatedAtMs)}`;
  await publisher.announce(session, key, DISABLED_EVENT, { subscriptionId: id, reason });
  return true;
}
