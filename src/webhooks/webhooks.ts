/**
 * Webhook delivery: `amends.webhooks`. Events are published in the caller's transaction and delivered by the worker, signed,
 * retried, and in the end either arrived or among the dead letters, one call from a new try.
 */
import { durationMs, positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { recordedNote, type OperatorNote, type OptionalNote } from "../core/operator-note.ts";
import { refuseUnknown } from "../core/options.ts";
import { ActionLog } from "../audit/action-log.ts";
import type { Database, Session } from "../storage/database.ts";
import { persist, type RetryLimits } from "../storage/retry.ts";
import type { Duty } from "../runtime/duty.ts";
import { retryLimitsOf, type PartContext, type PublishOptions } from "../runtime/part.ts";
import { assemble, type WebhookParts } from "./assemble.ts";
import type { DeadLetter } from "./dead-letters/rows.ts";
import type { Attempt, Delivery, DeliveryFilter } from "./delivery-queries.ts";
import type { Span } from "./operators.ts";
import type { Published, WebhookEvent } from "./publish/publisher.ts";
import type { StoredEvent } from "./publish/queries.ts";
import { prune, type Pruned } from "./retention.ts";
import type { WebhooksOptions } from "./settings.ts";
import type { Disabled } from "./subscriptions/administrator.ts";
import type { SubscriptionFilter } from "./subscriptions/queries.ts";
import type { Subscription } from "./subscriptions/view.ts";
import { checkSubscriptionKey, type SubscriptionSettings } from "./subscriptions/settings.ts";

/** A subscription with the secret that its receiver needs: it is shown this once. */
export interface NewSubscription extends Subscription {
  /** The secret that its receiver verifies with. */
  readonly secret: string;
}

/** A subscription under an id of the caller's. Its secret is shown if this call made it, or gave it. */
export interface DeclaredSubscription extends Subscription {
  /** Undefined if it has a secret that an earlier call made or gave. */
  readonly secret: string | undefined;
}

/** The settings of `webhooks.subscribe`. */
export interface SubscribeSettings extends SubscriptionSettings {
  /**
   * An id of your own, such as `acme-orders`: a letter, then letters, digits, dots, dashes, underscores and colons. The same
   * id again is the same subscription.
   */
  readonly id?: string;
  /** One that the receiver has already, `whsec_…` or `whsk_…`. Default: a new one. */
  readonly secret?: string;
}

const OVERLAP: Duration = "1d";
const RECORD = "the record of what people did";
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

  constructor(context: PartContext<Tx>, options: WebhooksOptions = {}) {
    this.#host = context;
    this.#retryLimits = retryLimitsOf(context);
    this.#onDisabled = options.onDisabled;
    this.#actions = new ActionLog(context.database, () => context.newId());
    this.#parts = assemble(context, options, (disabled) =>
      disabled.forEach((one) => this.#tellDisabled(one)),
    );
    const { delivery, administrator, orchestrator, sender } = this.#parts.duties;
    this.duties = [delivery, administrator, orchestrator, sender];
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

  /**
   * From now on events of these types go to this URL. With an `id` of yours, the same call at every start of your program
   * is the same subscription: it is made once, and other settings, or another secret, replace those that it had. Its state
   * stays as it is: a subscription that was paused, disabled or deleted is not taken up again.
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

  /** One subscription, by its number or by the id that its subscriber chose. */
  async subscription(id: string): Promise<Subscription> {
    const { subscriptions } = this.#parts;
    return this.#read(async (db) => subscriptions.read(db, await subscriptions.find(db, id)));
  }

  /** Oldest first. */
  async subscriptions(given: Partial<SubscriptionFilter> = {}): Promise<readonly Subscription[]> {
    refuseUnknown(given, ["status", "limit", "after", "order"], "webhooks.subscriptions");
    const { limit = 100, ...filter } = given;
    return this.#read((db) => this.#parts.subscriptions.list(db, { limit, ...filter }));
  }

  /** Changes what is named; what is set to undefined returns to its default. Deliveries under way are not taken back. */
  async update(id: string, changes: Partial<SubscriptionSettings>): Promise<Subscription> {
    const found = await this.#find(id);
    return this.#write((session) => this.#parts.subscriptions.update(session, found, changes));
  }

  /** What it is owed waits until it is enabled again. The reason, and who did it, are put on record. */
  async pause(id: string, note?: OptionalNote): Promise<Subscription> {
    return this.#steer("pause", id, note, (found, session) =>
      this.#parts.subscriptions.move(session, "pause", found, note?.reason ?? null),
    );
  }

  /** Ends a pause, or what a lasting failure had led to. The reason, and who did it, are put on record. */
  async enable(id: string, note?: OptionalNote): Promise<Subscription> {
    return this.#steer("enable", id, note, async (found, session) => {
      await this.#parts.orchestrator.forgetFailures(session, found);
      return this.#parts.subscriptions.move(session, "enable", found, null);
    });
  }

  /**
   * Nothing more goes there. What it is still owed ends among the dead letters as `subscription_deleted`. The reason, and
   * who did it, are put on record.
   */
  async unsubscribe(id: string, note?: OptionalNote): Promise<Subscription> {
    return this.#steer("unsubscribe", id, note, (found, session) =>
      this.#parts.subscriptions.move(session, "delete", found, note?.reason ?? null),
    );
  }

  /** A new secret. The old ones sign beside it for the overlap. Default: 1d. */
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

  /** Sends `amends.ping` to one subscription, whatever it has subscribed to. Answers with the delivery. */
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

  /** Newest first. */
  async deliveries(filter: DeliveryFilter = {}): Promise<readonly Delivery[]> {
    refuseUnknown(filter, ["subscriptionId", "eventId", "status", "limit", "after"], "webhooks.deliveries");
    return this.#parts.operators.deliveries(await this.#resolved(filter));
  }

  /** One delivery; undefined if there is none with this id. */
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
   * by it; asking twice for a dead letter makes one new delivery. The reason, and who did it, are put on record.
   */
  resend(deliveryId: string, note?: OptionalNote): Promise<string>;
  /** The same for several: the new ids by the old ones. Those whose event is on its way are left out. */
  resend(deliveryIds: readonly string[], note?: OptionalNote): Promise<ReadonlyMap<string, string>>;
  async resend(
    given: string | readonly string[],
    note?: OptionalNote,
  ): Promise<string | ReadonlyMap<string, string>> {
    const ids = typeof given === "string" ? [given] : given;
    const send = async (told: OperatorNote): Promise<ReadonlyMap<string, string>> => {
      const made = this.#woken(await this.#parts.operators.resend(ids, told));
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
   * Everything that a subscription wants of what was published in a span: answers with how many. The reason, and who did
   * it, are put on record.
   */
  async resendSince(subscriptionId: string, span: Span, note?: OptionalNote): Promise<number> {
    const found = await this.#find(subscriptionId);
    return this.#recorded("resend", "subscription", found, note, async () =>
      this.#woken(await this.#parts.operators.resendSpan(found, span)),
    );
  }

  /** Open ones, oldest first. */
  async deadLetters(
    filter: { readonly subscriptionId?: string; readonly limit?: number } = {},
  ): Promise<readonly DeadLetter[]> {
    refuseUnknown(filter, ["subscriptionId", "limit"], "webhooks.deadLetters");
    return this.#parts.operators.deadLetters(await this.#resolved(filter));
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

  /** What a person, or the application, orders is on record before it is done, and what became of it after. */
  #recorded<T>(
    action: string,
    kind: string,
    id: string,
    note: OptionalNote | undefined,
    work: (told: OperatorNote) => Promise<T>,
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

function onItsWay(id: string): AmendsError {
  return new AmendsError(
    "NOT_ALLOWED_NOW",
    "The event is on its way to this subscription: it can be sent again once that delivery has ended.",
    { id },
  );
}
