/** What every route of the console works with. */
import {
  CHEAP_KINDS,
  COSTLY_KINDS,
  countKinds,
  countsOf,
  type AttentionCounts,
  type KindCounts,
} from "../attention/count.ts";
import { EventFlow } from "../events/flow.ts";
import { runTypes } from "../events/read/list.ts";
import type { SagaPort } from "../events/set-up.ts";
import { ActionLog } from "../audit/action-log.ts";
import type { Amends } from "../operate/amends.ts";
import { sagaNames } from "../sagas/read/list.ts";
import type { Database } from "../storage/database.ts";
import { retrying, type Reader } from "../storage/read/reader.ts";
import { Webhooks } from "../webhooks/webhooks.ts";
import type { Part } from "./contract.ts";
import { Refused } from "./http/answer.ts";
import type { Call } from "./http/route.ts";
import { Shared } from "./http/shared.ts";
import type { Operator } from "./session/operator.ts";

/** More names than this are no help in a list to choose from. */
const NAMES_MAX = 200;
const NAMES_FRESH_MS = 10_000;
/** Nothing becomes overdue from one second to the next. */
const COSTLY_FRESH_MS = 60_000;

/** The console runs no handlers, so nothing asks for sagas. */
const NO_SAGAS: SagaPort = {
  known: [],
  runSaga: async () => undefined,
  tellSagas: async () => undefined,
};

export class ConsoleContext {
  readonly amends: Amends;
  readonly db: Database;
  /** Each statement is retried after a transient error. */
  readonly reader: Reader;
  readonly actions: ActionLog;
  #ownWebhooks: Webhooks | undefined;
  #ownEvents: EventFlow | undefined;
  readonly parts: readonly Part[];
  readonly #names: Shared<readonly string[]>;
  readonly #types: Shared<readonly string[]>;
  readonly #costly: Shared<KindCounts>;

  constructor(amends: Amends, parts: readonly Part[]) {
    const { context } = amends;
    this.amends = amends;
    this.db = context.database;
    this.reader = retrying(this.db);
    this.parts = parts;
    this.actions = new ActionLog(this.db, () => context.newId());
    const { clock } = this.db;
    this.#names = new Shared(clock, NAMES_FRESH_MS, () => sagaNames(this.reader, NAMES_MAX));
    this.#types = new Shared(clock, NAMES_FRESH_MS, () => runTypes(this.reader, NAMES_MAX));
    this.#costly = new Shared(clock, COSTLY_FRESH_MS, () => countKinds(this.reader, COSTLY_KINDS));
  }

  /**
   * The webhooks of this Amends. Without them the console uses its own instance, which no worker polls, so that
   * operators can still act.
   */
  get webhooks(): Webhooks {
    const { parts, context } = this.amends;
    return parts.webhooks ?? (this.#ownWebhooks ??= new Webhooks(context));
  }

  get events(): EventFlow {
    const { parts, context } = this.amends;
    return parts.events ?? (this.#ownEvents ??= new EventFlow(context, [], NO_SAGAS));
  }

  async close(): Promise<void> {
    await this.#ownWebhooks?.close();
  }

  /** How much needs a person. Kinds that are costly to count may be a minute old. */
  async attention(cheap?: KindCounts): Promise<AttentionCounts> {
    const counted = cheap ?? (await countKinds(this.reader, CHEAP_KINDS));
    return countsOf({ ...counted, ...(await this.#costly.get()) });
  }

  /** The names of the sagas that exist. */
  names(): Promise<readonly string[]> {
    return this.#names.get();
  }

  /** The types of event flows that exist. */
  flowTypes(): Promise<readonly string[]> {
    return this.#types.get();
  }
}

/** The signed-in operator. The guard refuses everyone else on routes that are not open. */
export function whoOf({ who }: { readonly who: Operator | undefined }): Operator {
  if (who) return who;
  throw new Refused(401, { code: "SIGN_IN", message: "Sign in first." });
}

/** Why an action is carried out, and by whom. */
export function noteOf(call: Call<unknown, { readonly reason: string }>): {
  readonly reason: string;
  readonly by: string;
} {
  return { reason: call.body.reason, by: whoOf(call).name };
}

/** An action is on record before it is carried out. */
export async function recorded<T>(
  { actions }: ConsoleContext,
  call: Call<unknown, { readonly reason: string }>,
  action: string,
  kind: string,
  work: (note: { readonly reason: string; readonly by: string }) => Promise<T>,
): Promise<T> {
  const { reason, by } = noteOf(call);
  return actions.around({ by, action, target: { kind, id: call.id }, reason }, () => work({ reason, by }));
}
