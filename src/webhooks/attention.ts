/** What of webhooks needs a person now: deliveries that were given up, and subscriptions that were disabled. */
import { AmendsError } from "../core/errors.ts";
import type { Database, Row } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import type { Sql } from "../storage/sql.ts";
import { listLetters } from "./dead-letters/queries.ts";
import { toDeadLetter } from "./dead-letters/rows.ts";
import { listDisabled } from "./subscriptions/queries.ts";

export interface DeadLetterItem {
  readonly kind: "dead-letter";
  /** Of the letter: what `amends.webhooks.requeue` takes. */
  readonly id: string;
  readonly since: Date;
  readonly deliveryId: string;
  readonly subscriptionId: string;
  readonly eventId: string;
  readonly eventType: string;
  /** The error code of the last attempt. */
  readonly reason: string;
  readonly attemptCount: number;
  readonly actions: readonly ("requeue" | "dismiss")[];
}

export interface DisabledItem {
  readonly kind: "disabled-subscription";
  readonly id: string;
  readonly since: Date;
  readonly url: string;
  readonly reason: string;
  readonly actions: readonly ("enable" | "delete")[];
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | undefined;
}

type Mark = readonly [ms: number, id: string];

export function listDeadLetterItems(
  db: Database,
  limit: number,
  after: string | undefined,
): Promise<Page<DeadLetterItem>> {
  const page = (mark: Mark | undefined): Sql => listLetters(db.dialect, { limit, after: mark });
  return pageOf(db, limit, after, page, "created_at", (row) => {
    const { id, createdAt, deliveryId, subscriptionId, eventId, eventType, errorCode, attemptCount } =
      toDeadLetter(row);
    return {
      kind: "dead-letter",
      id,
      since: createdAt,
      deliveryId,
      subscriptionId,
      eventId,
      eventType,
      reason: errorCode,
      attemptCount,
      actions: ["requeue", "dismiss"],
    };
  });
}

export function listDisabledItems(
  db: Database,
  limit: number,
  after: string | undefined,
): Promise<Page<DisabledItem>> {
  const page = (mark: Mark | undefined): Sql => listDisabled(db.dialect, limit, mark);
  return pageOf(db, limit, after, page, "updated_at", (row) => ({
    kind: "disabled-subscription",
    id: String(row["id"]),
    since: new Date(Number(row["updated_at"])),
    url: row["url"] as string,
    reason: (row["reason"] as string | null) ?? "",
    actions: ["enable", "delete"],
  }));
}

async function pageOf<Item>(
  db: Database,
  limit: number,
  after: string | undefined,
  page: (mark: Mark | undefined) => Sql,
  instant: string,
  toItem: (row: Row) => Item,
): Promise<Page<Item>> {
  const statement = page(after === undefined ? undefined : readMark(after));
  const rows = await persist(db, () => db.query(statement));
  const last = rows.at(-1);
  // The instant as the database has it: a Date would cut it off, and the next page would begin with this one's end.
  const next =
    last && rows.length === limit ? JSON.stringify([Number(last[instant]), String(last["id"])]) : undefined;
  return { items: rows.map(toItem), next };
}

function readMark(after: string): Mark {
  try {
    const [ms, id] = JSON.parse(after) as unknown[];
    if (typeof ms === "number" && typeof id === "string" && /^\d{1,18}$/.test(id)) return [ms, id];
  } catch {
    // Told below.
  }
  throw new AmendsError("BAD_OPTION", "`after` must be the `next` of the page before.");
}
