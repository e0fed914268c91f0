/** A saga in Restate: wait for it, look at it, send it a signal, and do what an operator may do. */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkId } from "../../core/identity.ts";
import { encodeJson } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import { throughSchema } from "../../sagas/define/input.ts";
import { isSchema, type SignalType } from "../../sagas/define/signal.ts";
import type { CancelNote, SagaNote, SkipNote } from "../../sagas/view/operators.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import { viewOf, type SagaView } from "../../sagas/view/view.ts";
import type { Order } from "../inbox.ts";
import type { Ingress } from "./ingress.ts";
import { readStored, type StoredSaga } from "../stored-saga.ts";

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

  /**
   * Reads the saga with its timeline, as it was stored last: when its status changed, when it began to wait for a long time, or when
   * an operator changed it.
   */
  async view(): Promise<SagaView> {
    const view = viewOf(readStored(this.id, this.#name, await this.#ask<StoredSaga>("look")));
    return { ...view, actions: view.actions.filter((action) => action !== "reverse") };
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
