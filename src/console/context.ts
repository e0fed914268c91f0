/** What every route of the console works with. */
import { readOverdue } from "../erasure/overdue.ts";
import type { SagaPort } from "../events/set-up.ts";
import type { Database, Row } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import type { Sql } from "../storage/sql.ts";
import type { Amends } from "../operate/amends.ts";
import { ActionLog } from "../operate/action-log.ts";
import { selectNow } from "../storage/database-time.ts";
import { EventFlow } from "../events/flow.ts";
import { Webhooks } from "../webhooks/webhooks.ts";
import { Refused } from "./http/answer.ts";
import type { Count, Part } from "./contract.ts";
import type { Operator } from "./session/operator.ts";
import { listNames } from "./sagas/queries.ts";
import { listTypes } from "./flows/queries.ts";
import type { Call } from "./http/route.ts";
import { Shared } from "./http/shared.ts";

/** More names than this are no help in a list to choose from. */
const NAMES_MAX = 200;
const NAMES_FRESH_MS = 10_000;
const OVERDUE_MAX = 100;
/** Nothing becomes overdue from one second to the next. */
const OVERDUE_FRESH_MS = 60_000;

/** The console runs no handlers, so nothing asks for sagas. */
const NO_SAGAS: SagaPort = {
  known: [],
  runSaga: async () => undefined,
  tellSagas: async () => undefined,
};

export class ConsoleContext {
  readonly amends: Amends;
  readonly db: Database;
  readonly actions: ActionLog;
  #ownWebhooks: Webhooks | undefined;
  #ownEvents: EventFlow | undefined;
  readonly parts: readonly Part[];
  readonly #names: Shared<readonly string[]>;
  readonly #types: Shared<readonly string[]>;
  readonly #overdue: Shared<number>;

  constructor(amends: Amends, parts: readonly Part[]) {
    const { context } = amends;
    this.amends = amends;
    this.db = context.database;
    this.parts = parts;
    this.actions = new ActionLog(this.db, () => context.newId());
    this.#overdue = new Shared(this.db.clock, OVERDUE_FRESH_MS, async () => {
      const { erasures } = await readOverdue(this.db, { limit: OVERDUE_MAX });
      return erasures.length;
    });
    this.#names = new Shared(this.db.clock, NAMES_FRESH_MS, async () => {
      const rows = await this.query(listNames(this.db.dialect, NAMES_MAX));
      return rows.map((row) => row["name"] as string);
    });
    this.#types = new Shared(this.db.clock, NAMES_FRESH_MS, async () => {
      const rows = await this.query(listTypes(this.db.dialect, NAMES_MAX));
      return rows.map((row) => row["name"] as string);
    });
  }

  /** Those of this Amends. Without them people still see and steer: the console has its own, which nobody polls. */
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

  /** One statement, tried again where trouble passes. It needs no `this`. */
  readonly query = (statement: Sql): Promise<readonly Row[]> =>
    persist(this.db, () => this.db.query(statement));

  /** What time it is, by the database's clock. */
  async nowMs(): Promise<number> {
    const [row] = await this.query(selectNow(this.db.dialect));
    return Number(row?.["now_at"]);
  }

  /** How many requests of data subjects are past their deadline, up to a hundred. */
  overdue(): Promise<number> {
    return this.#overdue.get();
  }

  /** The names of sagas that there are. */
  names(): Promise<readonly string[]> {
    return this.#names.get();
  }

  /** The types of event flows that there are. */
  flowTypes(): Promise<readonly string[]> {
    return this.#types.get();
  }
}

/** A number that was counted no further than `max`. */
export function countOf(value: unknown, max: number): Count {
  const number = Number(value);
  return { value: Math.min(number, max), exact: number <= max };
}

/** On every route but the open ones somebody is signed in: the guard has seen to it. */
export function whoOf({ who }: { readonly who: Operator | undefined }): Operator {
  if (who) return who;
  throw new Refused(401, { code: "SIGN_IN", message: "Sign in first." });
}

/** What somebody did, on record before it is done. */
export async function recorded<T>(
  { actions }: ConsoleContext,
  call: Call<unknown, { readonly reason: string }>,
  action: string,
  kind: string,
  work: (note: { readonly reason: string; readonly by: string }) => Promise<T>,
): Promise<T> {
  const { name: by } = whoOf(call);
  const { reason } = call.body;
  return actions.around({ by, action, target: { kind, id: call.id }, reason }, () => work({ reason, by }));
}
