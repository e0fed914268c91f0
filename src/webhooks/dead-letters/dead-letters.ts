/**
 * Dead letters and the operator actions on them. A letter is identified by its dead delivery, which never changes. A
 * resend creates a new delivery through the orchestrator.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Session } from "../../storage/database.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { readOldest, sourceOf } from "../../storage/read/selection.ts";
import { insertLetters, lockLetters, openLetters, settleLetters, type Settlement } from "./queries.ts";
import { toDeadLetter, type DeadLetter } from "./rows.ts";

/** What is asked of the orchestrator: new deliveries by the ids of dead ones. */
export type Requeue = (
  session: Session,
  deliveryIds: readonly string[],
) => Promise<ReadonlyMap<string, string>>;

export interface LetterFilter {
  readonly subscriptionId?: string | undefined;
  readonly limit: number;
}

export class DeadLetters {
  readonly #requeue: Requeue;

  constructor(requeue: Requeue) {
    this.#requeue = requeue;
  }

  /** In the transaction that made the deliveries dead. */
  async record(session: Session, deliveryIds: readonly string[]): Promise<void> {
    if (deliveryIds.length > 0) await session.query(insertLetters(session.dialect, deliveryIds));
  }

  /**
   * New deliveries in place of dead ones, by the ids of those. Deliveries that have no letter, or whose event is on its
   * way to the subscription, are left out. A second call finds the delivery that the first one made.
   */
  async requeue(
    session: Session,
    deliveryIds: readonly string[],
    note: Settlement,
  ): Promise<ReadonlyMap<string, string>> {
    const letters = await this.#lock(session, deliveryIds);
    const dismissed = letters.find(({ status }) => status === "Dismissed");
    if (dismissed) throw notOpen(dismissed);
    if (letters.length === 0) return new Map();
    const made = await this.#requeue(
      session,
      letters.map(({ deliveryId }) => deliveryId),
    );
    await session.query(settleLetters(session.dialect, "requeue", [...made.keys()], note));
    return made;
  }

  /** An operator closes the letter without a resend. */
  async dismiss(session: Session, deliveryId: string, note: Settlement): Promise<void> {
    const [letter] = await this.#lock(session, [deliveryId]);
    if (!letter)
      throw new AmendsError("WEBHOOK_NOT_FOUND", "This delivery has no dead letter.", { id: deliveryId });
    if (letter.status === "Requeued") throw notOpen(letter);
    await session.query(settleLetters(session.dialect, "dismiss", [deliveryId], note));
  }

  /** Open letters, oldest first. */
  async list(reader: Reader, { subscriptionId, limit }: LetterFilter): Promise<readonly DeadLetter[]> {
    const letters = sourceOf((dialect) => openLetters(dialect, subscriptionId), toDeadLetter);
    return (await readOldest(reader, letters, limit)).map(({ record }) => record);
  }

  async #lock(session: Session, deliveryIds: readonly string[]): Promise<readonly DeadLetter[]> {
    const rows = await session.query(lockLetters(session.dialect, deliveryIds));
    return rows.map(toDeadLetter);
  }
}

function notOpen({ deliveryId, status }: DeadLetter): AmendsError {
  return new AmendsError("NOT_ALLOWED_NOW", `The dead letter was settled before: it is ${status}.`, {
    id: deliveryId,
    status,
  });
}
