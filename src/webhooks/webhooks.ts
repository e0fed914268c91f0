/**
 * Webhook delivery: `amends.webhooks`. Events are published in the caller's transaction. The worker signs, delivers and
 * retries them; a delivery that uses up its attempts becomes a dead letter.
 */
import { durationMs, positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { recordedNote, type OperatorNote, type OptionalNote } from "../core/operator-note.ts";
import { givenTransaction, refuseUnknown } from "../core/options.ts";
import { ActionLog } from "../audit/action-log.ts";
import type { Consumer } from "../events/define/consumer.ts";
import type { TransactionKind } from "../sagas/define/transaction-kind.ts";
import type { Database, Session } from "../storage/database.ts";
import { joinNow } from "../storage/joins/at-once.ts";
import { performNow } from "../storage/joins/work.ts";
import { answerInTime, persist, type RetryLimits } from "../storage/retry.ts";
import type { Duty } from "../runtime/duty.ts";
import { retryLimitsOf, type PartContext, type PublishOptions } from "../runtime/part.ts";
import { assemble, type WebhookParts } from "./assemble.ts";
import type { DeadLetter } from "./dead-letters/rows.ts";
import type { Attempt, Delivery, DeliveryFilter } from "./delivery-queries.ts";
import type { Span, WebhookOperators } from "./operators.ts";
import type { Published, WebhookEvent } from "./publish/publisher.ts";
import type { StoredEvent } from "./publish/queries.ts";
import {
  catalogueOf,
  readTypedEvents,
  webhookConsumers,
  type TypedEvent,
  type WebhookType,
} from "./typed-events.ts";
import { prune, type Pruned } from "./retention.ts";
import type { WebhooksOptions } from "./settings.ts";
import type { Disabled } from "./subscriptions/administrator.ts";
import type { SubscriptionFilter } from "./subscriptions/queries.ts";
import type { Subscription } from "./subscriptions/view.ts";
import { checkSubscriptionKey, type SubscriptionSettings } from "./subscriptions/settings.ts";

/** A new subscription with its secret. The secret is returned only once: pass it to the receiver. */
export interface NewSubscription extends Subscription {
  /** The secret that signs, `whsec_…` or `whsk_…`. */
  readonly secret: string;
}

/** A subscription with an id that you chose. Its secret is returned if this call made it or passed it. */
export interface DeclaredSubscription extends Subscription {
  /** The secret that signs; undefined if an earlier call made it. */
  readonly secret: string | undefined;
}

/** The settings of `subscribe`. */
export interface SubscribeSettings extends SubscriptionSettings {
  /**
   * An id that you choose, such as `acme-orders`: a letter, then up to 127 letters, digits, dots, dashes, underscores
   * and colons. The same id again is the same subscription.
   */
  readonly id?: string;
  /** A secret that the receiver already has, `whsec_…` or `whsk_…`. Default: a new one. */
  readonly secret?: string;
}

const OVERLAP: Duration = "1d";
const RECORD = "the log of operator actions";
const PRUNE_BATCHES = 200;

/** Webhook delivery: `amends.webhooks`. */
export class Webhooks<Tx = unknown> {
  /** @internal */
  readonly duties: readonly Duty[];
  readonly #host: PartContext<Tx>;
  readonly #retryLimits: RetryLimits;
  readonly #parts: WebhookParts;
  readonly #actions: ActionLog;
  readonly #onDisabled: WebhooksOptions["onDisabled"];
  readonly #typedEvents: readonly TypedEvent[];

  constructor(context: PartContext<Tx>, options: WebhooksOptions = {}) {
    this.#host = context;
    this.#retryLimits = retryLimitsOf(context, "webhooks");
    this.#onDisabled = options.onDisabled;
    this.#typedEvents = readTypedEvents(options.events);
    this.#actions = new ActionLog(context.database, () => context.newId());
    this.#parts = assemble(context, options, (disabled) =>
      disabled.forEach((one) => this.#tellDisabled(one)),
    );
    const { delivery, administrator, orchestrator, sender } = this.#parts.duties;
    this.duties = [delivery, administrator, orchestrator, sender];
  }

  /**
   * Publishes an event to every matching subscription. With `tx`, the event exists if and only if the transaction
   * commits; without, it is durable when this resolves.
   */
  async publish(event: WebhookEvent, options: PublishOptions<Tx> = {}): Promise<Published> {
    refuseUnknown(options, ["tx"], "webhooks.publish");
    const { publisher } = this.#parts;
    const tx = givenTransaction(options, "webhooks.publish");
    if (tx === undefined) {
      // Under one id however often it is tried: an answer that was lost does not make a second event.
      const named = { ...event, id: event.id ?? this.#host.newId() };
      return this.#write((session) => publisher.publish(session, named));
    }
    return publisher.publish(this.#host.database.join(tx), event);
  }

  /** The types of webhooks that this program makes of its typed events (`webhooks.events`), with their schemas. */
  catalogue(): readonly WebhookType[] {
    return catalogueOf(this.#typedEvents);
  }

  /** @internal What makes webhooks of typed events. */
  consumers(): readonly Consumer[] {
    const { client, dialect } = this.#host.database;
    const kind: TransactionKind<Tx> = { dialect: dialect.name, ...(client !== undefined && { client }) };
    return webhookConsumers(this.#typedEvents, kind, (event, tx) => this.publish(event, tx));
  }

  /** @internal `publish` in a synchronous transaction. */
  publishNow(event: WebhookEvent, options: PublishOptions<Tx>): Published {
    refuseUnknown(options, ["tx"], "webhooks.publish");
    const session = joinNow(this.#host.database, options.tx);
    return performNow(session, this.#parts.publisher.publishing(session.dialect, event));
  }

  /**
   * Subscribes a URL to events. With an `id`, the same call at every start of your program creates the subscription
   * once; changed settings, or another secret, replace the old ones. Its status does not change: a paused, disabled or
   * deleted subscription stays so.
   */
  async subscribe(settings: SubscribeSettings & { readonly id: string }): Promise<DeclaredSubscription>;
  async subscribe(settings: SubscribeSettings & { readonly id?: undefined }): Promise<NewSubscription>;
  async subscribe({ id, secret: given, ...settings }: SubscribeSettings): Promise<DeclaredSubscription> {
    const { subscriptions } = this.#parts;
    const checked = subscriptions.check(settings);
    const text = subscriptions.secret(given);
    if (id === undefined) {
      const made = await this.#once((session) => subscriptions.create(session, checked, text));
      return { ...made, secret: text };
    }
    const key = checkSubscriptionKey(id);
    const isGiven = given !== undefined;
    const overlapMs = durationMs(OVERLAP, "overlap");
    const { view, secret } = await this.#write((session) =>
      subscriptions.declare(session, key, checked, { text, isGiven }, overlapMs),
    );
    return { ...view, secret };
  }

  /** Reads a subscription by either of its ids. Throws `WEBHOOK_NOT_FOUND` if there is none. */
  async subscription(id: string): Promise<Subscription> {
    const { subscriptions } = this.#parts;
    return this.#read(async (db) => subscriptions.read(db, await subscriptions.find(db, id)));
  }

  /** Lists subscriptions, oldest first. Default: the first 100. */
  async subscriptions(given: Partial<SubscriptionFilter> = {}): Promise<readonly Subscription[]> {
    refuseUnknown(given, ["status", "limit", "after", "order"], "webhooks.subscriptions");
    const { limit = 100, ...filter } = given;
    return this.#read((db) => this.#parts.subscriptions.list(db, { limit, ...filter }));
  }

  /**
   * Changes the given settings; a setting of undefined returns to its default. Deliveries under way are not affected.
   */
  async update(id: string, changes: Partial<SubscriptionSettings>): Promise<Subscription> {
    const found = await this.#find(id);
    return this.#write((session) => this.#parts.subscriptions.update(session, found, changes));
  }

  /** Pauses a subscription: its deliveries wait until it is enabled. The reason and the operator go on record. */
  async pause(id: string, note?: OptionalNote): Promise<Subscription> {
    return this.#steer("pause", id, note, (found, session) =>
      this.#parts.subscriptions.move(session, "pause", found, note?.reason ?? null),
    );
  }

  /** Enables a paused or disabled subscription. The reason and the operator go on record. */
  async enable(id: string, note?: OptionalNote): Promise<Subscription> {
    return this.#steer("enable", id, note, async (found, session) => {
      await this.#parts.orchestrator.forgetFailures(session, found);
      return this.#parts.subscriptions.move(session, "enable", found, null);
    });
  }

  /**
   * Deletes a subscription. Its open deliveries become dead letters with the code `subscription_deleted`. The reason
   * and the operator go on record.
   */
  async unsubscribe(id: string, note?: OptionalNote): Promise<Subscription> {
    return this.#steer("unsubscribe", id, note, (found, session) =>
      this.#parts.subscriptions.move(session, "delete", found, note?.reason ?? null),
    );
  }

  /** Replaces the secret. The old secrets also sign during the overlap. Default: a new secret, an overlap of 1d. */
  async rotateSecret(
    id: string,
    options: { readonly secret?: string; readonly overlap?: Duration } = {},
  ): Promise<NewSubscription> {
    refuseUnknown(options, ["secret", "overlap"], "webhooks.rotateSecret");
    const { subscriptions } = this.#parts;
    const secret = subscriptions.secret(options.secret);
    const overlapMs = durationMs(options.overlap ?? OVERLAP, "overlap");
    const found = await this.#find(id);
    const view = await this.#write((session) => subscriptions.rotate(session, found, secret, overlapMs));
    return { ...view, secret };
  }

  /** Sends `amends.ping` to one subscription, whatever its event types, and returns the delivery. */
  async ping(id: string): Promise<Delivery> {
    const found = await this.#find(id);
    const { publisher, orchestrator, subscriptions } = this.#parts;
    const key = await this.#once(async (session) => {
      const view = await subscriptions.read(session, found);
      const event = await publisher.deposit(session, "amends.ping", { subscriptionId: view.id });
      await orchestrator.resendEvents(session, view.id, [event.id]);
      return event.key;
    });
    const [delivery] = await this.deliveries({ eventId: key });
    return delivery as Delivery;
  }

  /** Lists deliveries, newest first. */
  async deliveries(filter: DeliveryFilter = {}): Promise<readonly Delivery[]> {
    refuseUnknown(filter, ["subscriptionId", "eventId", "status", "limit", "after"], "webhooks.deliveries");
    return this.#parts.operators.deliveries(await this.#resolved(filter));
  }

  /** Reads a delivery; undefined if there is none. */
  delivery(id: string): Promise<Delivery | undefined> {
    return this.#parts.operators.delivery(id);
  }

  /** Lists the attempts of a delivery, oldest first. */
  attempts(deliveryId: string): Promise<readonly Attempt[]> {
    return this.#parts.operators.attempts(deliveryId);
  }

  /** Reads an event with the payload that is sent; undefined if there is none. */
  event(id: string): Promise<StoredEvent | undefined> {
    return this.#parts.operators.event(id);
  }

  /**
   * Sends a delivery that has ended again, as a new delivery, and returns its id. A dead letter is settled by it;
   * resending a dead letter twice makes one new delivery. The reason and the operator go on record.
   */
  resend(deliveryId: string, note?: OptionalNote): Promise<string>;
  /**
   * Resends several deliveries and returns the new ids by the old ones. A delivery whose event is already on its way is
   * left out.
   */
  resend(deliveryIds: readonly string[], note?: OptionalNote): Promise<ReadonlyMap<string, string>>;
  async resend(
    given: string | readonly string[],
    note?: OptionalNote,
  ): Promise<string | ReadonlyMap<string, string>> {
    const ids = typeof given === "string" ? [given] : given;
    const send = async (recorded: OperatorNote): Promise<ReadonlyMap<string, string>> => {
      const made = this.#woken(await this.#parts.operators.resend(ids, recorded));
      if (typeof given === "string" && made.size === 0) throw onItsWay(given);
      return made;
    };
    // Each of them is on record by itself.
    const resent = [...ids].reduceRight<typeof send>(
      (work, id) => () => this.#recorded("resend", "delivery", id, note, work),
      send,
    );
    const made = await resent(recordedNote(note, RECORD));
    const [again] = made.values();
    return typeof given === "string" ? (again as string) : made;
  }

  /**
   * Resends the events that match a subscription and were published in the span. Returns the number of new deliveries.
   * The reason and the operator go on record.
   */
  async resendSince(subscriptionId: string, span: Span, note?: OptionalNote): Promise<number> {
    const found = await this.#find(subscriptionId);
    return this.#recorded("resend", "subscription", found, note, async () =>
      this.#woken(await this.#parts.operators.resendSpan(found, span)),
    );
  }

  /** Lists open dead letters, oldest first. */
  async deadLetters(
    filter: { readonly subscriptionId?: string; readonly limit?: number } = {},
  ): Promise<readonly DeadLetter[]> {
    refuseUnknown(filter, ["subscriptionId", "limit"], "webhooks.deadLetters");
    return this.#parts.operators.deadLetters(await this.#resolved(filter));
  }

  /** @internal What a bulk action does to one delivery. */
  async resendDead(...item: Parameters<WebhookOperators["resendDead"]>): Promise<void> {
    this.#woken(await this.#parts.operators.resendDead(...item));
  }

  /** Settles a dead letter without sending anything. */
  dismiss(deliveryId: string, note: OperatorNote): Promise<void> {
    return this.#parts.operators.dismiss(deliveryId, note);
  }

  /** Removes deliveries and events that ended longer ago than this, at most 100,000 deliveries per call. */
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

  /** The number of a subscription that is named by it, or by the id that its subscriber chose. */
  #find(id: string): Promise<string> {
    return this.#read((db) => this.#parts.subscriptions.find(db, id));
  }

  async #resolved<F extends { readonly subscriptionId?: string }>(filter: F): Promise<F> {
    const { subscriptionId } = filter;
    return subscriptionId === undefined
      ? filter
      : { ...filter, subscriptionId: await this.#find(subscriptionId) };
  }

  /** Changes the state of a subscription, on record. */
  async #steer(
    action: string,
    id: string,
    note: OptionalNote | undefined,
    work: (found: string, session: Session) => Promise<Subscription>,
  ): Promise<Subscription> {
    const found = await this.#find(id);
    return this.#recorded(action, "subscription", found, note, () =>
      this.#write((session) => work(found, session)),
    );
  }

  /** Records an action before it is carried out, and its outcome afterwards. */
  #recorded<T>(
    action: string,
    kind: string,
    id: string,
    note: OptionalNote | undefined,
    work: (recorded: OperatorNote) => Promise<T>,
  ): Promise<T> {
    const { reason, by } = recordedNote(note, RECORD);
    return this.#actions.around({ action, target: { kind, id }, reason, by }, () => work({ reason, by }));
  }

  #read<T>(work: (db: Database) => Promise<T>): Promise<T> {
    const db = this.#host.database;
    return persist(db, () => work(db), this.#retryLimits);
  }

  /** Something may be due now. */
  #woken<T>(value: T): T {
    this.#parts.duties.wake();
    return value;
  }

  /** Safe to repeat: a second call finds the work done. */
  async #write<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const db = this.#host.database;
    const written = persist(db, () => db.transaction(work), this.#retryLimits);
    return this.#woken(await answerInTime(db, written));
  }

  /** Not repeated after a lost answer, because it could then happen twice: the error goes to the caller. */
  async #once<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const db = this.#host.database;
    return this.#woken(
      await persist(db, () => db.transaction(work), { ...this.#retryLimits, attemptMax: 1 }),
    );
  }
}

function onItsWay(id: string): AmendsError {
  return new AmendsError(
    "NOT_ALLOWED_NOW",
    "The event is on its way to this subscription: it can be sent again once that delivery has ended.",
    { id },
  );
}
