/** A saga in Restate: wait for it, look at it, send it a signal, and do what an operator may do. */
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { checkId } from "../core/identity.ts";
import { encodeJson } from "../core/json.ts";
import { refuseUnknown } from "../core/options.ts";
import type { SagaStatus } from "../core/saga/machine.ts";
import { throughSchema } from "../sagas/define/input.ts";
import { isSchema, type SignalType } from "../sagas/define/signal.ts";
import {
  openActions,
  type CancelNote,
  type OpenAction,
  type SagaNote,
  type SkipNote,
} from "../sagas/view/operators.ts";
import type { SagaOutcome } from "../sagas/view/outcome.ts";
import type { Order } from "./inbox.ts";
import type { Ingress } from "./ingress.ts";
import { readStored, type StoredSaga } from "./stored-saga.ts";

/** A line of a saga's log. */
export interface RestateLine {
  /** The name of the step; a name that begins with `$` is a line of Amends itself. */
  readonly step: string;
  /** Whether the step acted or was compensated. */
  readonly action: "act" | "compensate";
  /** What the line says of the call. */
  readonly status: "STARTED" | "COMPLETED" | "FAILED";
  /** A result, a failure, or what a line of Amends says. */
  readonly details?: unknown;
  /** The call that begins with this line. */
  readonly next?: { readonly step: string; readonly action: "act" | "compensate" };
  /** When it happened, by the clock of the process that ran the saga. */
  readonly at: Date;
}

/** What a saga in Restate is at present. A saga that runs is stored when its status changes and when it waits. */
export interface RestateView {
  /** The id of the saga. */
  readonly id: string;
  /** The name of its definition. */
  readonly name: string;
  /** The version of its definition. */
  readonly version: number;
  /** Its status. */
  readonly status: SagaStatus;
  /** How many lines its log has, and one more: an action can be bound to it. */
  readonly revision: number;
  /** When it began. */
  readonly createdAt: Date;
  /** Its log. */
  readonly lines: readonly RestateLine[];
  /** What an operator may do now. */
  readonly actions: readonly OpenAction[];
}

/** The options of a wait for a saga. */
export interface RestateWait {
  /** Stops the wait, which then rejects. */
  readonly signal?: AbortSignal;
  /** The longest wait; after it, the wait rejects with the code `STOPPED_WAITING`. Default: none. */
  readonly timeout?: Duration;
}

/** A saga in Restate. */
export class RestateSaga<Results = unknown, E = unknown> {
  /** The id of the saga. */
  readonly id: string;
  /** False if a saga with this id already existed. */
  readonly created: boolean;
  readonly #ingress: Ingress;
  readonly #name: string;

  /** @internal */
  constructor(ingress: Ingress, name: string, id: string, created: boolean) {
    this.#ingress = ingress;
    this.#name = name;
    this.id = id;
    this.created = created;
  }

  /** Waits until the saga is COMPLETED, FAILED or STALLED. */
  async result(options: RestateWait = {}): Promise<SagaOutcome<Results, E>> {
    refuseUnknown(options, ["signal", "timeout"], "The wait for a saga");
    const { signal, timeout } = options;
    const limit = timeout === undefined ? undefined : AbortSignal.timeout(positiveMs(timeout, "timeout"));
    const signals = [signal, limit].filter((one) => one !== undefined);
    const stop = signals.length === 0 ? undefined : AbortSignal.any(signals);
    try {
      return await this.#ask("outcome", undefined, stop);
    } catch (error) {
      if (!stop?.aborted) throw error;
      throw new AmendsError("STOPPED_WAITING", "The wait for this saga was stopped. The saga goes on.");
    }
  }

  /** Reads the current status of the saga. */
  async status(): Promise<SagaStatus> {
    return (await this.view()).status;
  }

  /** Reads the saga with its log. */
  async view(): Promise<RestateView> {
    const stored = await this.#ask<StoredSaga>("look");
    const { state, version, definition, createdAtMs } = readStored(this.id, this.#name, stored);
    return {
      id: this.id,
      name: this.#name,
      version: definition,
      status: state.status,
      revision: version,
      createdAt: new Date(createdAtMs),
      lines: stored.entries.map(lineOf),
      actions: openActions(state),
    };
  }

  /** Sends a signal. True if it was sent now, false if one with this id had been sent before. */
  async signal<Input, Payload>(
    type: SignalType<string, Input, Payload>,
    payload: Input,
    options: { readonly id?: string } = {},
  ): Promise<boolean> {
    refuseUnknown(options, ["id"], "RestateSaga.signal");
    if (!isSchema((type as Partial<SignalType> | undefined)?.schema))
      throw new AmendsError("BAD_OPTION", "Only signals can be sent, made by `signal(…)`.");
    const field = `The payload of signal ${type.name}`;
    const text = await throughSchema(type.schema, payload, field, "(payload)");
    const dedupeId = options.id === undefined ? undefined : checkId(options.id, "The id of a signal");
    return this.#ask("signal", { name: type.name, payload: text, dedupeId });
  }

  /** Cancels the saga: it compensates. Throws `CANCEL_REFUSED` if the saga has reached its pivot or has completed. */
  async cancel(note: Partial<CancelNote> = {}): Promise<void> {
    await this.#order({ action: "cancel", note: { reason: "cancelled", ...note } });
  }

  /** Runs a stalled saga again, with new tries. */
  async retry(note: SagaNote): Promise<void> {
    await this.#order({ action: "retry", note });
  }

  /** Passes over a step that cannot go on: a person has done its work. */
  async skip(step: string, note: SkipNote): Promise<void> {
    encodeJson(note?.result, { field: "The result of a skipped step", allowNul: true });
    await this.#order({ action: "skip", step, note });
  }

  /** Ends a stalled saga by hand: a person answers for its effects. */
  async resolve(as: "COMPLETED" | "FAILED", note: SagaNote): Promise<void> {
    await this.#order({ action: "resolve", as, note });
  }

  async #order(order: Omit<Order, "kind">): Promise<void> {
    await this.#ask<number>("order", { ...order, kind: "order" });
  }

  #ask<T>(handler: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    return this.#ingress.ask(this.#name, this.id, handler, body, signal);
  }
}

function lineOf({ step, action, status, details, next, atMs }: StoredSaga["entries"][number]): RestateLine {
  return {
    step,
    action,
    status,
    ...(details !== null && { details: JSON.parse(details) as unknown }),
    ...(next && { next }),
    at: new Date(atMs),
  };
}
