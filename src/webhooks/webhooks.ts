/**
 * Webhook delivery: `amends.webhooks`. Events are published in the caller's transaction and delivered by the worker, signed,
 * retried, and in the end either arrived or among the dead letters, one call from a new try.
 */
import { checkSerial } from "../core/delivery/serial.ts";
import { durationMs, positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { checkNote, type OperatorNote } from "../core/operator-note.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Session } from "../storage/database.ts";
import { persist, type RetryLimits } from "../storage/retry.ts";
import type { Duty } from "../runtime/duty.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import type { PublishOptions } from "../runtime/publish-options.ts";
import { assemble, type WebhookParts } from "./assemble.ts";
import type { DeadLetter } from "./dead-letters/rows.ts";
import type { Attempt, Delivery, DeliveryFilter } from "./delivery-queries.ts";
import type { StoredEvent } from "./event-queries.ts";
import type { Span } from "./operators.ts";
import type { Published, WebhookEvent } from "./publishing.ts";
import { prune, type Pruned } from "./retention.ts";
import type { WebhooksOptions } from "./settings.ts";
import type { SubscriptionFilter } from "./subscriptions/queries.ts";
import type { Subscription } from "./subscriptions/rows.ts";
import type { SubscriptionSettings } from "./subscriptions/settings.ts";
import type { Disabled } from "./subscriptions/subscriptions.ts";

/** A subscription with the secret that its receiver needs: it is shown this once. */
export interface NewSubscription extends Subscription {
  readonly secret: string;
}

export interface SubscribeSettings extends SubscriptionSettings {
  /** One that the receiver has already, `whsec_…` or `whsk_…`. A new one is made where none is given. */
  readonly secret?: string;
}

const OVERLAP: Duration = "1d";
const PRUNE_BATCHES = 200;

/** Webhook delivery: `amends.webhooks`. */
export class Webhooks<Tx = unknown> {
  /** @internal */
  readonly duties: readonly Duty[];
  readonly #host: PartContext<Tx>;
  readonly #retryLimits: RetryLimits;
  readonly #parts: WebhookParts;
  readonly #onDisabled: WebhooksOptions["onDisabled"];

  constructor(context: PartContext<Tx>, options: WebhooksOptions = {}) {
    this.#host = context;
    this.#retryLimits = retryLimitsOf(context);
    this.#onDisabled = options.onDisabled;
    this.#parts = assemble(context, options, (disabled) =>
      disabled.forEach((one) => this.#tellDisabled(one)),
    );
    this.duties = [this.#parts.pool];
  }

  /**
   * Publishes an event to the subscriptions that want it: exactly if `tx` commits, or, without a transaction, durably
   * when this resolves.
   */
  async publish(event: WebhookEvent, options: PublishOptions<Tx> = {}): Promise<Published> {
    refuseUnknown(options, ["tx"], "webhooks.publish");
    const { publisher } = this.#parts;
    const { tx } = options;
    if (tx === undefined) {
      // Under one id however often it is tried: an answer that was lost does not make a second event.
      const named = { ...event, id: event.id ?? this.#host.newId() };
      return this.#write((session) => publisher.publish(session, named));
    }
    return publisher.publish(this.#host.database.join(tx), event);
  }

  /** From now on events of these types go to this URL. */
  async subscribe({ secret: given, ...settings }: SubscribeSettings): Promise<NewSubscription> {
    const checked = this.#parts.subscriptions.check(settings);
    const secret = this.#parts.subscriptions.secret(given);
    const made = await this.#once((session) => this.#parts.subscriptions.create(session, checked, secret));
    return { ...made, secret };
  }

  async subscription(id: string): Promise<Subscription> {
    const db = this.#host.database;
    checkSerial(id, "a subscription");
    return (await persist(db, () => this.#parts.subscriptions.read(db, id), this.#retryLimits)).view;
  }

  async subscriptions({ limit = 100, ...filter }: Partial<SubscriptionFilter> = {}): Promise<
    readonly Subscription[]
  > {
    const db = this.#host.database;
    return persist(db, () => this.#parts.subscriptions.list(db, { limit, ...filter }), this.#retryLimits);
  }

  /** Changes what is named; what is set to undefined returns to its default. Deliveries under way are not taken back. */
  async update(id: string, changes: Partial<SubscriptionSettings>): Promise<Subscription> {
    checkSerial(id, "a subscription");
    return this.#write((session) => this.#parts.subscriptions.update(session, id, changes));
  }

  /** What it is owed waits until it is enabled again. */
  async pause(id: string, note: OperatorNote): Promise<Subscription> {
    checkSerial(id, "a subscription");
    const { reason } = checkNote(note, "the subscription");
    return this.#write((session) => this.#parts.subscriptions.move(session, "pause", id, reason));
  }

  /** Ends a pause, or what a lasting failure had led to. */
  async enable(id: string): Promise<Subscription> {
    checkSerial(id, "a subscription");
    return this.#write(async (session) => {
      await this.#parts.orchestrator.forgetFailures(session, id);
      return this.#parts.subscriptions.move(session, "enable", id, null);
    });
  }

  /** Nothing more goes there. What it is still owed ends among the dead letters as `subscription_deleted`. */
  async unsubscribe(id: string, note: OperatorNote): Promise<Subscription> {
    checkSerial(id, "a subscription");
    const { reason } = checkNote(note, "the subscription");
    return this.#write((session) => this.#parts.subscriptions.move(session, "delete", id, reason));
  }

  /** A new secret. The old ones sign beside it for the overlap: a day unless said otherwise. */
  async rotateSecret(
    id: string,
    options: { readonly secret?: string; readonly overlap?: Duration } = {},
  ): Promise<NewSubscription> {
    checkSerial(id, "a subscription");
    const secret = this.#parts.subscriptions.secret(options.secret);
    const overlapMs = durationMs(options.overlap ?? OVERLAP, "overlap");
    const view = await this.#write((session) =>
      this.#parts.subscriptions.rotate(session, id, secret, overlapMs),
    );
    return { ...view, secret };
  }

  /** Sends `amends.ping` to one subscription, whatever it has subscribed to. Answers with the delivery. */
  async ping(id: string): Promise<Delivery> {
    checkSerial(id, "a subscription");
    const key = await this.#once(async (session) => {
      const { view } = await this.#parts.subscriptions.read(session, id);
      const event = await this.#parts.publisher.deposit(session, "amends.ping", { subscriptionId: view.id });
      await this.#parts.orchestrator.resendEvents(session, id, [event.id]);
      return event.key;
    });
    const [delivery] = await this.deliveries({ eventId: key });
    return delivery as Delivery;
  }

  /** Newest first. */
  deliveries(filter: DeliveryFilter = {}): Promise<readonly Delivery[]> {
    return this.#parts.operators.deliveries(filter);
  }

  delivery(id: string): Promise<Delivery | undefined> {
    return this.#parts.operators.delivery(id);
  }

  /** Everything that was tried for a delivery, oldest first. */
  attempts(deliveryId: string): Promise<readonly Attempt[]> {
    return this.#parts.operators.attempts(deliveryId);
  }

  /** An event as it was published, with the payload that is sent. */
  event(id: string): Promise<StoredEvent | undefined> {
    return this.#parts.operators.event(id);
  }

  /**
   * Sends a delivery that has ended once more, as a new one, and answers with the id of that. A dead letter is settled
   * by it; asking twice for a dead letter makes one new delivery.
   */
  resend(deliveryId: string, note: OperatorNote): Promise<string>;
  /** The same for several: the new ids by the old ones. Those whose event is on its way are left out. */
  resend(deliveryIds: readonly string[], note: OperatorNote): Promise<ReadonlyMap<string, string>>;
  async resend(
    given: string | readonly string[],
    note: OperatorNote,
  ): Promise<string | ReadonlyMap<string, string>> {
    const ids = typeof given === "string" ? [given] : given;
    const made = this.#woken(await this.#parts.operators.resend(ids, note));
    if (typeof given !== "string") return made;
    const [again] = made.values();
    if (again !== undefined) return again;
    throw new AmendsError(
      "NOT_ALLOWED_NOW",
      "The event is on its way to this subscription: it can be sent again once that delivery has ended.",
      { id: given },
    );
  }

  /** Everything that a subscription wants of what was published in a span: answers with how many. */
  async resendSince(subscriptionId: string, span: Span, note: OperatorNote): Promise<number> {
    return this.#woken(await this.#parts.operators.resendSpan(subscriptionId, span, note));
  }

  /** Open ones, oldest first. */
  deadLetters(
    filter: { readonly subscriptionId?: string; readonly limit?: number } = {},
  ): Promise<readonly DeadLetter[]> {
    return this.#parts.operators.deadLetters(filter);
  }

  /** Settles a dead letter without sending anything. */
  dismiss(deliveryId: string, note: OperatorNote): Promise<void> {
    return this.#parts.operators.dismiss(deliveryId, note);
  }

  /** Forgets what ended longer ago than this, up to 100,000 deliveries at a time. */
  async prune(policy: { readonly olderThan: Duration }): Promise<Pruned> {
    const ms = positiveMs(policy.olderThan, "olderThan");
    const { database } = this.#host;
    const transact = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
      persist(database, () => database.transaction(work), this.#retryLimits);
    return prune(transact, ms, PRUNE_BATCHES);
  }

  /** @internal */
  close(): Promise<void> {
    return this.#parts.sender.close();
  }

  #tellDisabled({ id, reason }: Disabled): void {
    const signal = { subscriptionId: id, reason };
    this.#host.warn(signal, "amends: a webhook subscription was disabled and needs a person");
    const failed = (): void => this.#host.warn(signal, "amends: webhooks.onDisabled failed");
    try {
      Promise.resolve(this.#onDisabled?.(signal)).catch(failed);
    } catch {
      failed();
    }
  }

  /** Something may be due now. */
  #woken<T>(value: T): T {
    this.#parts.pool.dueIn(0);
    return value;
  }

  /** Safe to repeat: what was done before is found done. */
  async #write<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const db = this.#host.database;
    return this.#woken(await persist(db, () => db.transaction(work), this.#retryLimits));
  }

  /** An answer that is lost is told: made again, it would be done twice. */
  async #once<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const db = this.#host.database;
    return this.#woken(
      await persist(db, () => db.transaction(work), { ...this.#retryLimits, attemptMax: 1 }),
    );
  }
}
