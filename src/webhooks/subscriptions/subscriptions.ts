/**
 * Subscriptions and their secrets, in the caller's transaction. A secret is returned once, when it is created; a
 * replaced secret stays active for a while, so that receivers can change over.
 */
import { isDeepStrictEqual } from "node:util";
import type { SubscriptionEvent } from "../../core/delivery/machine.ts";
import { checkSerial } from "../../core/delivery/serial.ts";
import { AmendsError } from "../../core/errors.ts";
import { readNowMs } from "../../storage/database-time.ts";
import type { Session } from "../../storage/database.ts";
import { generateWebhookSecret, readSecret } from "../http/secret.ts";
import type { SecretBox } from "../http/secret-box.ts";
import {
  insertSubscription,
  listSubscriptions,
  moveSubscriptions,
  replaceRoutes,
  SECRETS,
  selectByKey,
  selectSecrets,
  selectSubscription,
  setSecrets,
  SUBSCRIPTION_ID,
  updateSettings,
  type KeptSecret,
  type SubscriptionFilter,
} from "./queries.ts";
import {
  checkSettings,
  isSubscriptionKey,
  type CheckedSettings,
  type Defaults,
  type SubscriptionSettings,
} from "./settings.ts";
import { toSubscription, type Subscription } from "./view.ts";

export interface SubscriptionsOptions {
  readonly defaults: Defaults;
  readonly box: SecretBox;
}

/** What became of a subscription under an id that its subscriber chose. */
export interface Declared {
  readonly view: Subscription;
  /** It signs with this secret now: it was made with it, or has got it. Undefined if it has another one. */
  readonly secret: string | undefined;
}

type Ask = Pick<Session, "dialect" | "query">;

/** More secrets would make the signature header too long. */
const SECRETS_MAX = 4;

export class Subscriptions {
  readonly #options: SubscriptionsOptions;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Refuses what does not fit, before anything is written. */
  check(settings: SubscriptionSettings): CheckedSettings {
    return checkSettings(settings, this.#options.defaults);
  }

  /** A secret of the caller's, checked, or a new one. */
  secret(given: string | undefined): string {
    if (given === undefined) return generateWebhookSecret();
    if (readSecret(given, "secret").kind === "public") {
      throw new AmendsError("BAD_SECRET", "secret must be one that signs: whsec_… or whsk_…, not whpk_….");
    }
    return given;
  }

  /** The number of a subscription, by that number or by the id that its subscriber chose. */
  async find(session: Ask, given: string): Promise<string> {
    if (!isSubscriptionKey(given)) return checkSerial(given, "a subscription");
    const [row] = await session.query(selectByKey(session.dialect, given));
    if (row) return SUBSCRIPTION_ID.read(row).id;
    throw notFound(given);
  }

  async create(session: Session, settings: CheckedSettings, secret: string): Promise<Subscription> {
    const [row] = await session.query(insertSubscription(session.dialect, settings, undefined));
    return this.#complete(session, SUBSCRIPTION_ID.read(row ?? {}).id, settings, secret);
  }

  /**
   * The subscription under an id that its subscriber chose: made if there is none, else brought to these settings. Its
   * state stays as it is: one that was paused, disabled or deleted is not taken up again. A secret that was given and is
   * not the newest one replaces it, as `rotate` does.
   */
  async declare(
    session: Session,
    key: string,
    settings: CheckedSettings,
    secret: { readonly text: string; readonly isGiven: boolean },
    overlapMs: number,
  ): Promise<Declared> {
    const [row] = await session.query(insertSubscription(session.dialect, settings, key));
    if (row) {
      const view = await this.#complete(session, SUBSCRIPTION_ID.read(row).id, settings, secret.text);
      return { view, secret: secret.text };
    }
    const id = await this.find(session, key);
    const found = await this.read(session, id, true);
    if (found.status === "Deleted") return { view: found, secret: undefined };
    if (!isSame(found, settings)) {
      await session.query(updateSettings(session.dialect, id, settings));
      await this.#route(session, id, settings);
    }
    if (secret.isGiven) await this.rotate(session, id, secret.text, overlapMs);
    const isOurs = this.#newest(await this.#secrets(session, id), id) === secret.text;
    return { view: await this.read(session, id), secret: isOurs ? secret.text : undefined };
  }

  async update(session: Session, id: string, changes: Partial<SubscriptionSettings>): Promise<Subscription> {
    const view = await this.read(session, id, true);
    refuseDeleted(view);
    const settings = this.check({ ...settingsOf(view), ...changes });
    await session.query(updateSettings(session.dialect, id, settings));
    await this.#route(session, id, settings);
    return this.read(session, id);
  }

  /** Moves it along an arrow; if it is there already, nothing happens. */
  async move(
    session: Session,
    event: SubscriptionEvent,
    id: string,
    reason: string | null,
  ): Promise<Subscription> {
    const moved = await session.query(moveSubscriptions(session.dialect, event, [id], reason));
    const view = await this.read(session, id);
    if (moved.length === 0 && view.status === "Deleted" && event !== "delete") refuseDeleted(view);
    return view;
  }

  /** The old secrets stay alive for the overlap, and then no longer. */
  async rotate(session: Session, id: string, secret: string, overlapMs: number): Promise<Subscription> {
    const { box } = this.#options;
    const view = await this.read(session, id, true);
    refuseDeleted(view);
    const secrets = await this.#secrets(session, id);
    // The answer to a commit may be lost: a rotation that is there already is not made again.
    if (this.#newest(secrets, id) === secret) return view;
    const nowMs = await readNowMs(session);
    const old = secrets
      .map((one) => ({ ...one, untilMs: Math.min(one.untilMs ?? Infinity, nowMs + overlapMs) }))
      .filter(({ untilMs }) => untilMs > nowMs)
      .map((one) => (box.isCurrent(one.text) ? one : { ...one, text: box.seal(box.open(one.text, id), id) }));
    await this.#keep(session, id, [{ text: box.seal(secret, id) }, ...old].slice(0, SECRETS_MAX));
    return this.read(session, id);
  }

  async read(session: Ask, id: string, lock: boolean = false): Promise<Subscription> {
    const [row] = await session.query(selectSubscription(session.dialect, id, lock));
    if (!row) throw notFound(id);
    return toSubscription(row);
  }

  async list(session: Ask, filter: SubscriptionFilter): Promise<readonly Subscription[]> {
    return (await session.query(listSubscriptions(session.dialect, filter))).map(toSubscription);
  }

  async #complete(
    session: Session,
    id: string,
    settings: CheckedSettings,
    secret: string,
  ): Promise<Subscription> {
    await this.#route(session, id, settings);
    await this.#keep(session, id, [{ text: this.#options.box.seal(secret, id) }]);
    return this.read(session, id);
  }

  async #route(session: Session, id: string, { events, filter }: CheckedSettings): Promise<void> {
    for (const statement of replaceRoutes(session.dialect, id, events, filter))
      await session.query(statement);
  }

  async #secrets(session: Session, id: string): Promise<readonly KeptSecret[]> {
    const [row] = await session.query(selectSecrets(session.dialect, id));
    return row ? SECRETS.read(row).secrets : [];
  }

  #newest([newest]: readonly KeptSecret[], id: string): string | undefined {
    return newest && this.#options.box.open(newest.text, id);
  }

  async #keep(session: Session, id: string, secrets: readonly KeptSecret[]): Promise<void> {
    await session.query(setSecrets(session.dialect, id, secrets));
  }
}

function settingsOf(view: Subscription): SubscriptionSettings {
  const { url, events, filter, description, attempts, concurrency, intervalMs, ordered, timeoutMs } = view;
  return {
    url,
    events,
    filter,
    concurrency,
    ordered,
    ...(description !== undefined && { description }),
    ...(attempts !== undefined && { attempts }),
    ...(intervalMs > 0 && { rate: { max: 1, per: intervalMs } }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
  };
}

function isSame(found: Subscription, given: CheckedSettings): boolean {
  const { url, events, filter, description, attempts, concurrency, intervalMs, ordered, timeoutMs } = found;
  const settings: CheckedSettings = {
    url,
    events,
    filter,
    description: description ?? null,
    attemptMax: attempts ?? null,
    concurrency,
    intervalMs,
    ordered,
    timeoutMs: timeoutMs ?? null,
  };
  return isDeepStrictEqual(settings, given);
}

function notFound(id: string): AmendsError {
  return new AmendsError("WEBHOOK_NOT_FOUND", "There is no subscription with this id.", { id });
}

function refuseDeleted({ id, status }: Subscription): void {
  if (status !== "Deleted") return;
  throw new AmendsError("NOT_ALLOWED_NOW", "The subscription was deleted. Make a new one.", { id });
}
