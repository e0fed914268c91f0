/**
 * Who gets what, where, and how fast. Everything happens in the transaction of whoever asks. A secret is given out once,
 * when it is made; a secret that is replaced stays alive for a while, so that receivers can change over.
 */
import type { SubscriptionEvent } from "../../core/delivery/machine.ts";
import { AmendsError } from "../../core/errors.ts";
import type { Session } from "../../storage/database.ts";
import { generateWebhookSecret, readSecret } from "../sending/secret.ts";
import type { SecretBox } from "../sending/secret-box.ts";
import {
  insertSubscription,
  lastingFailures,
  listSubscriptions,
  moveSubscriptions,
  replaceRoutes,
  selectSubscription,
  setSecrets,
  updateSettings,
  type SubscriptionFilter,
} from "./queries.ts";
import { toSubscription, type KeptSecret, type StoredSubscription, type Subscription } from "./rows.ts";
import { checkSettings, type CheckedSettings, type Defaults, type SubscriptionSettings } from "./settings.ts";

export interface SubscriptionsOptions {
  readonly defaults: Defaults;
  readonly box: SecretBox;
  /** A subscription that has only failed for so long, and at least so often, is disabled. */
  readonly disableAfterMs: number;
  readonly disableAfterFailures: number;
}

/** A subscription that was disabled just now. */
export interface Disabled {
  readonly id: string;
  readonly reason: "gone" | "failing";
  readonly updatedAtMs: number;
}

type Ask = Pick<Session, "dialect" | "query">;

/** More would make the header of signatures too long, and nobody rotates that often. */
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

  async create(session: Session, settings: CheckedSettings, secret: string): Promise<Subscription> {
    const { dialect } = session;
    const [row] = await session.query(insertSubscription(dialect, settings));
    const id = String(row?.["id"]);
    await this.#route(session, id, settings);
    await this.#keep(session, id, [{ text: this.#options.box.seal(secret, id) }]);
    return (await this.read(session, id)).view;
  }

  async update(session: Session, id: string, changes: Partial<SubscriptionSettings>): Promise<Subscription> {
    const { view } = await this.read(session, id, true);
    refuseDeleted(view);
    const settings = this.check({ ...settingsOf(view), ...changes });
    await session.query(updateSettings(session.dialect, id, settings));
    await this.#route(session, id, settings);
    return (await this.read(session, id)).view;
  }

  /** Moves it along an arrow; where it is there already, nothing happens. */
  async move(
    session: Session,
    event: SubscriptionEvent,
    id: string,
    reason: string | null,
  ): Promise<Subscription> {
    const moved = await session.query(moveSubscriptions(session.dialect, event, [id], reason));
    const { view } = await this.read(session, id);
    if (moved.length === 0 && view.status === "Deleted" && event !== "delete") refuseDeleted(view);
    return view;
  }

  /** The old secrets stay alive for the overlap, and then no longer. */
  async rotate(session: Session, id: string, secret: string, overlapMs: number): Promise<Subscription> {
    const { box } = this.#options;
    const { view, secrets, nowMs } = await this.read(session, id, true);
    refuseDeleted(view);
    const [newest] = secrets;
    // The answer to a commit may be lost: a rotation that is there already is not made again.
    if (newest && box.open(newest.text, id) === secret) return view;
    const old = secrets
      .map((one) => ({ ...one, untilMs: Math.min(one.untilMs ?? Infinity, nowMs + overlapMs) }))
      .filter(({ untilMs }) => untilMs > nowMs)
      .map((one) => (box.isCurrent(one.text) ? one : { ...one, text: box.seal(box.open(one.text, id), id) }));
    await this.#keep(session, id, [{ text: box.seal(secret, id) }, ...old].slice(0, SECRETS_MAX));
    return (await this.read(session, id)).view;
  }

  async read(session: Ask, id: string, lock: boolean = false): Promise<StoredSubscription> {
    const [row] = await session.query(selectSubscription(session.dialect, id, lock));
    if (!row) throw new AmendsError("WEBHOOK_NOT_FOUND", "There is no subscription with this id.", { id });
    return toSubscription(row);
  }

  async list(session: Ask, filter: SubscriptionFilter): Promise<readonly Subscription[]> {
    const rows = await session.query(listSubscriptions(session.dialect, filter));
    return rows.map((row) => toSubscription(row).view);
  }

  /** Of those that failed just now: who has failed for too long. */
  async failing(session: Ask, failed: readonly string[]): Promise<readonly string[]> {
    const { disableAfterMs, disableAfterFailures } = this.#options;
    const rows = await session.query(
      lastingFailures(session.dialect, failed, disableAfterMs, disableAfterFailures),
    );
    return rows.map((row) => String(row["id"]));
  }

  /** Whoever is gone, or has failed for too long, gets nothing more. */
  async disable(
    session: Session,
    gone: readonly string[],
    failing: readonly string[],
  ): Promise<readonly Disabled[]> {
    const disabled: Disabled[] = [];
    for (const [ids, reason] of [
      [gone, "gone"],
      [failing, "failing"],
    ] as const) {
      if (ids.length === 0) continue;
      for (const row of await session.query(moveSubscriptions(session.dialect, "disable", ids, reason)))
        disabled.push({ id: String(row["id"]), reason, updatedAtMs: Math.floor(Number(row["updated_at"])) });
    }
    return disabled;
  }

  async #route(session: Session, id: string, { events, filter }: CheckedSettings): Promise<void> {
    for (const statement of replaceRoutes(session.dialect, id, events, filter))
      await session.query(statement);
  }

  async #keep(session: Session, id: string, secrets: readonly KeptSecret[]): Promise<void> {
    await session.query(setSecrets(session.dialect, id, JSON.stringify(secrets)));
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

function refuseDeleted({ id, status }: Subscription): void {
  if (status !== "Deleted") return;
  throw new AmendsError("NOT_ALLOWED_NOW", "The subscription was deleted. Make a new one.", { id });
}
