/**
 * What was given up, and what people do about it. A letter that is requeued becomes a brand-new delivery, which only the
 * orchestrator can make: it is asked. The dead delivery is never touched.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Session } from "../../storage/database.ts";
import {
  insertLetters,
  listLetters,
  selectLetterOf,
  selectLetters,
  settleLetters,
  type LetterFilter,
  type Settlement,
} from "./queries.ts";
import { toDeadLetter, type DeadLetter } from "./rows.ts";

/** What is asked of the orchestrator: new deliveries by the ids of dead ones. */
export type Requeue = (
  session: Session,
  deliveryIds: readonly string[],
) => Promise<ReadonlyMap<string, string>>;

export class DeadLetters {
  readonly #requeue: Requeue;

  constructor(requeue: Requeue) {
    this.#requeue = requeue;
  }

  /** In the transaction that made the deliveries dead. */
  async record(session: Session, deliveryIds: readonly string[]): Promise<void> {
    if (deliveryIds.length > 0) await session.query(insertLetters(session.dialect, deliveryIds));
  }

  /** The new delivery of each letter, by the letter's id. A second time it finds what the first one made. */
  async requeue(
    session: Session,
    ids: readonly string[],
    note: Settlement,
  ): Promise<ReadonlyMap<string, string>> {
    const { dialect } = session;
    const letters = await this.#read(session, ids);
    const dismissed = letters.find(({ status }) => status === "Dismissed");
    if (dismissed) throw notOpen(dismissed);
    const made = await this.#requeue(
      session,
      letters.map(({ deliveryId }) => deliveryId),
    );
    const done = letters.filter(({ deliveryId }) => made.has(deliveryId));
    await session.query(
      settleLetters(
        dialect,
        "requeue",
        done.map(({ id }) => id),
        note,
      ),
    );
    return new Map(done.map(({ id, deliveryId }) => [id, made.get(deliveryId) as string]));
  }

  /** Somebody has seen to it in another way. */
  async dismiss(session: Session, id: string, note: Settlement): Promise<void> {
    const [letter] = await this.#read(session, [id]);
    if (letter?.status === "Requeued") throw notOpen(letter);
    await session.query(settleLetters(session.dialect, "dismiss", [id], note));
  }

  async list(
    session: Pick<Session, "dialect" | "query">,
    filter: LetterFilter,
  ): Promise<readonly DeadLetter[]> {
    return (await session.query(listLetters(session.dialect, filter))).map(toDeadLetter);
  }

  /** The letter of a dead delivery. */
  async letterOf(session: Session, deliveryId: string): Promise<string | undefined> {
    const [row] = await session.query(selectLetterOf(session.dialect, deliveryId));
    return row && String(row["id"]);
  }

  async #read(session: Session, ids: readonly string[]): Promise<readonly DeadLetter[]> {
    const rows = await session.query(selectLetters(session.dialect, ids, true));
    if (rows.length < new Set(ids).size) {
      throw new AmendsError("WEBHOOK_NOT_FOUND", "There is no dead letter with this id.", { ids });
    }
    return rows.map(toDeadLetter);
  }
}

function notOpen({ id, status }: DeadLetter): AmendsError {
  return new AmendsError("NOT_ALLOWED_NOW", `The dead letter was settled before: it is ${status}.`, {
    id,
    status,
  });
}
