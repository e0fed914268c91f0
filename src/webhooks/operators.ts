/** Operator actions on deliveries. An ended delivery never changes: a resend is a new delivery. */
import { deliveryMachine } from "../core/delivery/machine.ts";
import { checkSerial } from "../core/delivery/serial.ts";
import { wants } from "../core/delivery/filter.ts";
import { AmendsError } from "../core/errors.ts";
import { checkNote, type OperatorNote } from "../core/operator-note.ts";
import type { Database, Session } from "../storage/database.ts";
import { persist, type RetryLimits } from "../storage/retry.ts";
import type { DeadLetters } from "./dead-letters/dead-letters.ts";
import type { DeadLetter } from "./dead-letters/rows.ts";
import {
  listDeliveries,
  selectAttempts,
  selectDelivery,
  toAttempt,
  toDelivery,
  type Attempt,
  type Delivery,
  type DeliveryFilter,
} from "./delivery-queries.ts";
import type { Orchestrator } from "./deliver/orchestrator.ts";
import { readBriefs, type SubscriptionBrief } from "./read/subscription-brief.ts";
import { EVENT, eventsBetween, PUBLISHED, selectEvent, type StoredEvent } from "./publish/queries.ts";
import type { Subscriptions } from "./subscriptions/subscriptions.ts";

export interface OperatorParts {
  readonly db: Database;
  readonly retryLimits: RetryLimits;
  readonly orchestrator: Orchestrator;
  readonly deadLetters: DeadLetters;
  readonly subscriptions: Subscriptions;
}

/** A period of time. */
export interface Span {
  /** The beginning of the period. */
  readonly since: Date;
  /** The end of the period. Default: now. */
  readonly until?: Date;
}

const PAGE = 500;
const LIMIT_MAX = 1_000;
const FAR = Date.UTC(9000, 0, 1);
const DEAD = deliveryMachine.target("InProgress", "exhaust");

export class WebhookOperators {
  readonly #parts: OperatorParts;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  async deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    const { db } = this.#parts;
    const statement = listDeliveries(db.dialect, filter, checkLimit(filter.limit));
    return (await this.#persist(() => db.query(statement))).map(toDelivery);
  }

  async delivery(given: string): Promise<Delivery | undefined> {
    const { db } = this.#parts;
    const id = checkSerial(given, "a delivery");
    const [row] = await this.#persist(() => db.query(selectDelivery(db.dialect, id)));
    return row && toDelivery(row);
  }

  async attempts(given: string): Promise<readonly Attempt[]> {
    const { db } = this.#parts;
    const id = checkSerial(given, "a delivery");
    return (await this.#persist(() => db.query(selectAttempts(db.dialect, id)))).map(toAttempt);
  }

  async event(key: string): Promise<StoredEvent | undefined> {
    const { db } = this.#parts;
    const [row] = await this.#persist(() => db.query(selectEvent(db.dialect, key)));
    if (!row) return undefined;
    const { createdAt, ...event } = EVENT.read(row);
    return { ...event, createdAt: new Date(createdAt) };
  }

  async deadLetters(filter: {
    readonly subscriptionId?: string | undefined;
    readonly limit?: number | undefined;
  }): Promise<readonly DeadLetter[]> {
    const { db, deadLetters } = this.#parts;
    const { subscriptionId } = filter;
    if (subscriptionId !== undefined) checkSerial(subscriptionId, "a subscription");
    const limit = checkLimit(filter.limit);
    return this.#persist(() => deadLetters.list(db, { subscriptionId, limit }));
  }

  async dismiss(given: string, note: OperatorNote): Promise<void> {
    const { reason, by } = checkNote(note, "the dead letter");
    const id = checkSerial(given, "a delivery");
    await this.#write((session) => this.#parts.deadLetters.dismiss(session, id, { reason, by }));
  }

  /**
   * Sends deliveries that have ended once more, as new ones: their ids by those of the old ones. Those whose event is on
   * its way to the subscription are left out. A dead delivery is requeued, and its letter is settled with it.
   */
  async resend(given: readonly string[], note: OperatorNote): Promise<ReadonlyMap<string, string>> {
    const { reason, by } = checkNote(note, "the record");
    const ids = [...new Set(given.map((id) => checkSerial(id, "a delivery")))];
    const found = await Promise.all(ids.map((id) => this.delivery(id)));
    const missing = ids.find((_, index) => found[index] === undefined);
    if (missing !== undefined)
      throw new AmendsError("WEBHOOK_NOT_FOUND", "There is no delivery with this id.", { id: missing });
    const others = found.flatMap((one) => (one && one.status !== DEAD ? [one.id] : []));
    const { orchestrator, deadLetters } = this.#parts;
    const work = async (session: Session): Promise<ReadonlyMap<string, string>> => {
      const made = new Map(await deadLetters.requeue(session, ids, { reason, by }));
      for (const id of others) {
        const [again] = await orchestrator.resend(session, [id]);
        if (again !== undefined) made.set(id, again);
      }
      return made;
    };
    // Repeating it is safe for dead deliveries only: each of them is requeued once.
    return others.length === 0 ? this.#write(work) : this.#once(work);
  }

  /**
   * Sends one dead delivery once more, for a bulk action: `record` runs in the same transaction. It is refused if the delivery has no
   * dead letter, or if it would fail at once.
   */
  async resendDead(
    given: string,
    note: OperatorNote,
    record: (session: Session) => Promise<void>,
  ): Promise<void> {
    const id = checkSerial(given, "a delivery");
    const delivery = await this.delivery(id);
    if (!delivery) throw new AmendsError("WEBHOOK_NOT_FOUND", "There is no delivery with this id.", { id });
    const { db, deadLetters } = this.#parts;
    const { subscriptionId } = delivery;
    const { status } = (await this.#persist(() => readBriefs(db, [subscriptionId]))).get(
      subscriptionId,
    ) as SubscriptionBrief;
    if (status === "Deleted" || status === "Disabled")
      throw new AmendsError(
        "NOT_ALLOWED_NOW",
        `The subscription ${subscriptionId} is ${status}: the delivery would fail at once.`,
        { id, status },
      );
    const { reason, by } = checkNote(note, "the record");
    await this.#write(async (session) => {
      await record(session);
      const made = await deadLetters.requeue(session, [id], { reason, by });
      if (made.size === 0)
        throw new AmendsError(
          "NOT_ALLOWED_NOW",
          "The delivery has no dead letter, or its event is on its way to the subscription.",
          { id },
        );
    });
  }

  /** Whatever a subscription wants of what was published in a span, whether it got it then or not. */
  async resendSpan(id: string, { since, until }: Span): Promise<number> {
    const [from, to] = [instantOf(since, "since"), until === undefined ? FAR : instantOf(until, "until")];
    const { db, orchestrator, subscriptions } = this.#parts;
    const view = await this.#persist(() => subscriptions.read(db, id));
    let count = 0;
    for (let after = "0"; ;) {
      const statement = eventsBetween(db.dialect, from, to, after, PAGE);
      const rows = await this.#persist(() => db.query(statement));
      const wanted = rows
        .map((row) => PUBLISHED.read(row))
        .filter((event) => wants(view, event))
        .map((event) => event.id);
      if (wanted.length > 0) {
        // Repeated after a lost answer it finds each of them open, and makes no second one.
        count += await this.#write((session) => orchestrator.resendEvents(session, id, wanted));
      }
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return count;
      after = String(last["id"]);
    }
  }

  /** Safe to repeat: a second call finds the work done. */
  #write<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#persist(() => this.#noticed(work));
  }

  /** Not repeated after a lost answer, because it could then happen twice: the error goes to the caller. */
  #once<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return persist(this.#parts.db, () => this.#noticed(work), { ...this.#parts.retryLimits, attemptMax: 1 });
  }

  #noticed<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#parts.db.transaction(async (session) => {
      const result = await work(session);
      const notice = session.dialect.notify();
      if (notice) await session.query(notice);
      return result;
    });
  }

  #persist<T>(work: () => Promise<T>): Promise<T> {
    return persist(this.#parts.db, work, this.#parts.retryLimits);
  }
}

function checkLimit(limit: number = 100): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new AmendsError("BAD_OPTION", `A page has 1 to ${LIMIT_MAX} items.`);
}

function instantOf(date: unknown, field: string): number {
  if (date instanceof Date && Number.isFinite(date.getTime())) return date.getTime();
  throw new AmendsError("BAD_OPTION", `${field} must be a valid Date.`);
}
