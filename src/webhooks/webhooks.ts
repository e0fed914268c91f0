/**
 * Webhook delivery: `amends.webhooks`. Events are published in the caller's transaction and delivered by the worker, signed,
 * retried, and in the end either arrived or among the dead letters, one call from a new try.
 */
import { checkSerial } from "../core/delivery/serial.ts";
import { durationMs, positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { checkNote, type OperatorNote } from "../core/operator-note.ts";
import type { Session } from "../storage/database.ts";
import { BRIEF_RETRIES, persist, type RetryLimits } from "../storage/retry.ts";
import type { LeasePool } from "../runtime/lease-pool.ts";
import type { PartContext } from "../runtime/part.ts";
import { Booking } from "./booking.ts";
import { DeadLetters } from "./dead-letters/dead-letters.ts";
import type { DeadLetter } from "./dead-letters/rows.ts";
import type { Attempt, Delivery, DeliveryFilter } from "./delivery-queries.ts";
import { dispatchDesk } from "./dispatch.ts";
import type { StoredEvent } from "./event-queries.ts";
import { JobLayer } from "./jobs/job-layer.ts";
import { WebhookOperators, type Span } from "./operators.ts";
import { Orchestrator } from "./orchestrator/orchestrator.ts";
import { Publisher, type Published, type WebhookEvent } from "./publishing.ts";
import { prune, type Pruned } from "./retention.ts";
import { secretBox } from "./sending/secret-box.ts";
import { createSender, type Sender } from "./sending/send.ts";
import { readSettings, type WebhooksOptions } from "./settings.ts";
import type { SubscriptionFilter } from "./subscriptions/queries.ts";
import type { Subscription } from "./subscriptions/rows.ts";
import { CONCURRENCY_MAX, type SubscriptionSettings } from "./subscriptions/settings.ts";
import { Subscriptions, type Disabled } from "./subscriptions/subscriptions.ts";
import { DeliverySender, type DeliveryTask } from "./worker/courier.ts";

/** A subscription with the secret that its receiver needs: it is shown this once. */
export interface NewSubscription extends Subscription {
  readonly secret: string;
}

export interface SubscribeSettings extends SubscriptionSettings {
  /** One that the receiver has already, `whsec_…` or `whsk_…`. A new one is made where none is given. */
  readonly secret?: string;
}

const OVERLAP: Duration = "1d";
const DISABLE_FAILURES = 10;
const PRUNE_BATCHES = 200;

export class Webhooks<Tx = unknown> {
  readonly #host: PartContext<Tx>;
  readonly #retryLimits: RetryLimits;
  readonly #sender: Sender;
  readonly #orchestrator: Orchestrator;
  readonly #subscriptions: Subscriptions;
  readonly #publisher: Publisher;
  readonly #operators: WebhookOperators;
  readonly #pool: LeasePool<DeliveryTask>;
  readonly #onDisabled: WebhooksOptions["onDisabled"];

  constructor(host: PartContext<Tx>, owner: string, options: WebhooksOptions = {}) {
    const settings = readSettings(options);
    const { clock, closing: signal } = host;
    const newId = (): string => host.newId();
    const onTrouble = (error: unknown, attempt: number): void => host.onTrouble(error, attempt);
    const onBug = (error: unknown): void => host.onBug(error);
    const db = host.database as PartContext["database"];
    this.#host = host;
    this.#retryLimits = { ...BRIEF_RETRIES, signal, onTrouble };
    this.#onDisabled = options.onDisabled;
    this.#sender = options.sender ?? createSender({ clock, ...options.sending });
    const box = secretBox(options.secretKey, "webhooks.secretKey");
    const { attemptMax, leaseMs } = settings;
    this.#orchestrator = new Orchestrator({
      policy: settings.policy,
      attemptMax,
      concurrencyMax: CONCURRENCY_MAX,
    });
    this.#subscriptions = new Subscriptions({
      defaults: {
        concurrency: settings.subscriptionConcurrency,
        checkUrl: (url) => this.#sender.checkUrl(url),
      },
      box,
      disableAfterMs: settings.disableAfterMs,
      disableAfterFailures: DISABLE_FAILURES,
    });
    this.#publisher = new Publisher(this.#orchestrator, settings.payloadMax, newId, () =>
      host.tracer.current(),
    );
    const deadLetters = new DeadLetters((session, ids) => this.#orchestrator.requeue(session, ids));
    const [orchestrator, subscriptions] = [this.#orchestrator, this.#subscriptions];
    this.#operators = new WebhookOperators({
      db,
      retryLimits: this.#retryLimits,
      orchestrator,
      deadLetters,
      subscriptions,
    });
    const jobs = new JobLayer({ leaseMs, leaseMax: settings.leaseMax, owner });
    const deliverySender = new DeliverySender({
      sender: this.#sender,
      box,
      clock,
      timeoutMs: settings.timeoutMs,
      graceMs: options.sender ? host.graceMs : undefined,
      attemptMax,
      newId,
      tracer: host.tracer,
    });
    const onDead = (ids: readonly string[]): void =>
      host.warn({ deliveries: ids }, "amends: webhook deliveries were given up; see the dead letters");
    const shared = { db, signal, orchestrator, jobs, deliverySender, deadLetters, onDead, onTrouble };
    const booking: Booking = new Booking({
      ...shared,
      subscriptions,
      publisher: this.#publisher,
      onDue: (ms) => this.#pool.dueIn(ms),
      onDisabled: (disabled) => disabled.forEach((one) => this.#tellDisabled(one)),
    });
    this.#pool = dispatchDesk({
      ...shared,
      clock,
      leaseMs,
      capacity: settings.concurrency,
      booking: () => booking,
      onBug,
    });
    host.addDuty(this.#pool);
  }

  /**
   * Tells the subscriptions that want it what happened, exactly if your open transaction commits. Without a transaction
   * the event is durable when this resolves.
   */
  async publish(tx: Tx | undefined, event: WebhookEvent): Promise<Published> {
    if (tx === undefined) {
      // Under one id however often it is tried: an answer that was lost does not make a second event.
      const named = { ...event, id: event.id ?? this.#host.newId() };
      return this.#write((session) => this.#publisher.publish(session, named));
    }
    return this.#publisher.publish(this.#host.database.join(tx), event);
  }

  /** From now on events of these types go to this URL. */
  async subscribe({ secret: given, ...settings }: SubscribeSettings): Promise<NewSubscription> {
    const checked = this.#subscriptions.check(settings);
    const secret = this.#subscriptions.secret(given);
    const made = await this.#once((session) => this.#subscriptions.create(session, checked, secret));
    return { ...made, secret };
  }

  async subscription(id: string): Promise<Subscription> {
    const db = this.#host.database;
    checkSerial(id, "a subscription");
    return (await persist(db, () => this.#subscriptions.read(db, id), this.#retryLimits)).view;
  }

  async subscriptions({ limit = 100, ...filter }: Partial<SubscriptionFilter> = {}): Promise<
    readonly Subscription[]
  > {
    const db = this.#host.database;
    return persist(db, () => this.#subscriptions.list(db, { limit, ...filter }), this.#retryLimits);
  }

  /** Changes what is named; what is set to undefined returns to its default. Deliveries under way are not taken back. */
  async update(id: string, changes: Partial<SubscriptionSettings>): Promise<Subscription> {
    checkSerial(id, "a subscription");
    return this.#write((session) => this.#subscriptions.update(session, id, changes));
  }

  /** What it is owed waits until it is enabled again. */
  async pause(id: string, note: OperatorNote): Promise<Subscription> {
    checkSerial(id, "a subscription");
    const { reason } = checkNote(note, "the subscription");
    return this.#write((session) => this.#subscriptions.move(session, "pause", id, reason));
  }

  /** Ends a pause, or what a lasting failure had led to. */
  async enable(id: string): Promise<Subscription> {
    checkSerial(id, "a subscription");
    return this.#write(async (session) => {
      await this.#orchestrator.forgetFailures(session, id);
      return this.#subscriptions.move(session, "enable", id, null);
    });
  }

  /** Nothing more goes there. What it is still owed ends among the dead letters as `subscription_deleted`. */
  async unsubscribe(id: string, note: OperatorNote): Promise<Subscription> {
    checkSerial(id, "a subscription");
    const { reason } = checkNote(note, "the subscription");
    return this.#write((session) => this.#subscriptions.move(session, "delete", id, reason));
  }

  /** A new secret. The old ones sign beside it for the overlap: a day unless said otherwise. */
  async rotateSecret(
    id: string,
    options: { readonly secret?: string; readonly overlap?: Duration } = {},
  ): Promise<NewSubscription> {
    checkSerial(id, "a subscription");
    const secret = this.#subscriptions.secret(options.secret);
    const overlapMs = durationMs(options.overlap ?? OVERLAP, "overlap");
    const view = await this.#write((session) => this.#subscriptions.rotate(session, id, secret, overlapMs));
    return { ...view, secret };
  }

  /** Sends `amends.ping` to one subscription, whatever it has subscribed to. Answers with the delivery. */
  async ping(id: string): Promise<Delivery> {
    checkSerial(id, "a subscription");
    const key = await this.#once(async (session) => {
      const { view } = await this.#subscriptions.read(session, id);
      const event = await this.#publisher.deposit(session, "amends.ping", { subscriptionId: view.id });
      await this.#orchestrator.resendEvents(session, id, [event.id]);
      return event.key;
    });
    const [delivery] = await this.deliveries({ eventId: key });
    return delivery as Delivery;
  }

  /** Newest first. */
  deliveries(filter: DeliveryFilter = {}): Promise<readonly Delivery[]> {
    return this.#operators.deliveries(filter);
  }

  delivery(id: string): Promise<Delivery | undefined> {
    return this.#operators.delivery(id);
  }

  /** Everything that was tried for a delivery, oldest first. */
  attempts(deliveryId: string): Promise<readonly Attempt[]> {
    return this.#operators.attempts(deliveryId);
  }

  /** An event as it was published, with the payload that is sent. */
  event(id: string): Promise<StoredEvent | undefined> {
    return this.#operators.event(id);
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
    const made = this.#woken(await this.#operators.resend(ids, note));
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
    return this.#woken(await this.#operators.resendSpan(subscriptionId, span, note));
  }

  /** Open ones, oldest first. */
  deadLetters(
    filter: { readonly subscriptionId?: string; readonly limit?: number } = {},
  ): Promise<readonly DeadLetter[]> {
    return this.#operators.deadLetters(filter);
  }

  /** Settles a dead letter without sending anything. */
  dismiss(deliveryId: string, note: OperatorNote): Promise<void> {
    return this.#operators.dismiss(deliveryId, note);
  }

  /** Forgets what ended longer ago than this, up to 100,000 deliveries at a time. */
  async prune(policy: { readonly olderThan: Duration }): Promise<Pruned> {
    const ms = positiveMs(policy.olderThan, "olderThan");
    const { database } = this.#host;
    const transact = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
      persist(database, () => database.transaction(work), this.#retryLimits);
    return prune(transact, ms, PRUNE_BATCHES);
  }

  /** Ends the connections to receivers; not for users, `amends.close()` does it. */
  close(): Promise<void> {
    return this.#sender.close();
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
    this.#pool.dueIn(0);
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
