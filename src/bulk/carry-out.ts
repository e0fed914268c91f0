/**
 * Carries out one item of a bulk action: through the function that a single action of an operator calls, so that it is refused for the same
 * reasons. The record of the item and its effect are one transaction, and an item that is on record is left alone: however often a page
 * is repeated, and by whom, each item is carried out and recorded once.
 */
import { recordItem, type ItemResult } from "../audit/item-record.ts";
import type { NewAction } from "../core/action.ts";
import { itemRecordId } from "../core/bulk/action.ts";
import { AmendsError, errorLabel, isOutage } from "../core/errors.ts";
import { recordedNote } from "../core/operator-note.ts";
import type { Outbox } from "../erasure/remote/outbox.ts";
import { requeueCalls } from "../outbox/requeue.ts";
import type { PartContext } from "../runtime/part.ts";
import type { BulkItem, Operators } from "../sagas/view/operators.ts";
import type { Session } from "../storage/database.ts";
import { persist, type RetryLimits } from "../storage/retry.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { CheckedRequest } from "./request.ts";

/** The parts whose items are carried out. */
export interface BulkTools {
  /** The actions on sagas, each recorded as an item. */
  operators(item: BulkItem): Operators;
  webhooks(): Webhooks;
  /** Undefined if this process does not erase. */
  readonly erasures: Pick<Outbox, "requeue"> | undefined;
  /** Closes what was made for it alone. */
  close(): Promise<void>;
}

export interface Carried {
  readonly bulkId: string;
  readonly request: CheckedRequest;
  readonly reason: string;
  readonly by: string | undefined;
}

/** The item was on record: its transaction is rolled back. */
class OnRecord extends AmendsError {
  constructor(id: string) {
    super("NOT_ALLOWED_NOW", "The item is on record already.", { id });
  }
}

export class ItemRunner {
  readonly #host: PartContext;
  readonly #tools: BulkTools;
  readonly #retryLimits: RetryLimits;

  constructor(host: PartContext, tools: BulkTools, retryLimits: RetryLimits) {
    this.#host = host;
    this.#tools = tools;
    this.#retryLimits = retryLimits;
  }

  /** Throws only if the database is at fault: then nothing is known of the item. */
  async run(carried: Carried, id: string): Promise<ItemResult> {
    const recordId = itemRecordId(carried.bulkId, id);
    const action = actionOn(carried, id);
    const record = async (session: Session): Promise<void> => {
      if (!(await recordItem(session, recordId, action, { outcome: "done" }))) throw new OnRecord(id);
    };
    try {
      await this.#act(carried, id, record);
      return DONE;
    } catch (error) {
      if (error instanceof OnRecord) return DONE;
      if (isOutage(error)) throw error;
      const code = errorLabel(error, this.#host.errorCodes);
      await this.#write((session) => recordItem(session, recordId, action, { outcome: "refused", code }));
      return { outcome: "refused", code };
    }
  }

  async #act(carried: Carried, id: string, record: (session: Session) => Promise<void>): Promise<void> {
    const { request, reason, by, bulkId } = carried;
    const note = { reason, ...(by !== undefined && { by }) };
    const sagas = (): Operators => this.#tools.operators({ bulk: bulkId, record });
    switch (request.action) {
      case "retry":
        await sagas().retry(id, note);
        return;
      case "cancel":
        await sagas().cancel(id, {
          ...note,
          ...(request.pivotDidNotHappen === true && { pivotDidNotHappen: true }),
        });
        return;
      case "skip": {
        const { step = "", result } = request;
        const given = result === undefined ? {} : { result: JSON.parse(result) as unknown };
        await sagas().skip(id, step, { ...note, ...given });
        return;
      }
      case "resolve":
        await sagas().resolve(id, request.as ?? "FAILED", note);
        return;
      case "resend":
        return this.#tools.webhooks().resendDead(id, note, record);
      case "requeue":
        return request.kind === "erasure"
          ? this.#requeueErasure(id, note, record)
          : this.#requeueCall(id, record);
    }
  }

  async #requeueCall(id: string, record: (session: Session) => Promise<void>): Promise<void> {
    const requeue = requeueCalls([id]);
    await this.#write(async (session) => {
      await record(session);
      if ((await requeue.run(session)).length === 0) throw notAbandoned(id);
    });
  }

  async #requeueErasure(
    id: string,
    note: { readonly reason: string; readonly by?: string },
    record: (session: Session) => Promise<void>,
  ): Promise<void> {
    const { erasures } = this.#tools;
    if (!erasures) throw new Error("amends: a process without erasure has claimed a bulk action on erasures");
    const requeued = await erasures.requeue([id], note, record);
    if (requeued.length === 0) throw notAbandoned(id);
  }

  #write<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const { database } = this.#host;
    return persist(database, () => database.transaction(work), this.#retryLimits);
  }
}

const DONE: ItemResult = { outcome: "done", code: undefined };

/** What the record says of an item, as of the single action on it. */
function actionOn({ request, ...note }: Carried, id: string): NewAction {
  const { reason, by } = recordedNote(
    { reason: note.reason, ...(note.by !== undefined && { by: note.by }) },
    "the log of operator actions",
  );
  return { by, action: request.action, target: { kind: targetOf(request), id }, reason };
}

function targetOf({ kind }: CheckedRequest): string {
  return kind === "erasure" ? "entry" : kind;
}

function notAbandoned(id: string): AmendsError {
  return new AmendsError("NOT_ALLOWED_NOW", "Only an abandoned entry can be requeued.", { id });
}
