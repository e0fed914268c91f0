/** Starts sagas in Restate and operates them, from any process. It needs no SDK: it talks to Restate's ingress. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { AmendsError } from "../../core/errors.ts";
import { checkId, checkName } from "../../core/identity.ts";
import { canonicalJson } from "../../core/json.ts";
import { givenTransaction, refuseUnknown } from "../../core/options.ts";
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Calls } from "../../outbox/calls/calls.ts";
import type { CallDefinition } from "../../outbox/calls/definition.ts";
import type { AnySaga, SagaDefinition } from "../../sagas/define/definition.ts";
import { throughSchema } from "../../sagas/define/input.ts";
import { RestateSaga } from "./handle.ts";
import { Ingress, type RestateAddress } from "./ingress.ts";
import { sagasByStatus } from "./queries.ts";
import { enqueueStart, startCall, type StartMessage } from "./start-call.ts";
import type { StartOrder } from "../stored-saga.ts";

/** How a saga is to be started. */
export interface RestateStart<Tx = unknown> {
  /** The id of the saga. The same id with the same input is the same saga. Default: a new one. */
  readonly id?: string;
  /**
   * The durable calls of your database (`amends.calls`): the start is a call in its outbox, which a worker makes. Register
   * `startCall` in `calls` of `new Amends`. Default: Restate is called at once.
   */
  readonly through?: Pick<Calls<Tx>, "enqueue">;
  /** Your own open transaction on that database: the saga starts if and only if it commits. Needs `through`. */
  readonly tx?: Tx;
}

/** Which sagas to list. */
export interface RestateSelection {
  /** The status of the sagas. */
  readonly status: SagaStatus;
  /** At most so many. Default: 100. */
  readonly limit?: number;
}

/** A saga in a list. */
export interface ListedSaga {
  /** The id of the saga. */
  readonly id: string;
  /** The name of its definition. */
  readonly name: string;
  /** Its status. */
  readonly status: SagaStatus;
}

const LIST_MAX = 1_000;

/** Sagas in Restate: starts, finds and lists them. */
export class RestateSagas {
  /** The durable call that starts a saga in Restate. Register it in `calls` of `new Amends` to start sagas in a transaction. */
  readonly startCall: CallDefinition<StandardSchemaV1<StartMessage>>;
  readonly #ingress: Ingress;

  constructor(address: RestateAddress) {
    refuseUnknown(address, ["ingress", "admin", "headers"], "RestateSagas");
    this.#ingress = new Ingress(address);
    this.startCall = startCall((message, signal) => this.#send(message, signal));
  }

  /**
   * Starts a saga. An id that exists is the same saga if version and input are the same; otherwise the call is refused with
   * `SAGA_CONFLICT`. Restate knows an id as long as it keeps the saga (`retention`).
   */
  async start<Input, Results, Failure, Tx = unknown>(
    saga: SagaDefinition<Input, unknown, Results, Failure>,
    input: Input,
    options: RestateStart<Tx> = {},
  ): Promise<RestateSaga<Results, Failure>> {
    refuseUnknown(options, ["id", "through", "tx"], "RestateSagas.start");
    const { through } = options;
    const tx = givenTransaction(options, "RestateSagas.start");
    if (tx !== undefined && !through)
      throw new AmendsError(
        "BAD_OPTION",
        "Restate is in no transaction. To start a saga if yours commits, pass `through: amends.calls` beside `tx`.",
      );
    const { name, version, schema } = saga;
    const id = options.id === undefined ? crypto.randomUUID() : checkId(options.id, "The id of a saga");
    const text = await throughSchema(schema, input, `The input of saga ${name}`, "(input)");
    const message: StartMessage = { name, id, version, input: text };
    const created = through
      ? (await enqueueStart(through, this.startCall, message, tx)).created
      : await this.#send(message);
    return new RestateSaga(this.#ingress, name, id, created);
  }

  /** The saga with this id. Whether it exists shows when it is asked. */
  find<Results, Failure>(
    saga: Pick<SagaDefinition<never, unknown, Results, Failure>, "name" | "types">,
    id: string,
  ): RestateSaga<Results, Failure> {
    return new RestateSaga(this.#ingress, saga.name, checkId(id, "The id of a saga"), false);
  }

  /** Lists the sagas of this name that have a status, by their ids. Restate reads all of its state for that. */
  async list({ name }: Pick<AnySaga, "name">, selection: RestateSelection): Promise<readonly ListedSaga[]> {
    refuseUnknown(selection, ["status", "limit"], "RestateSagas.list");
    const { status, limit = 100 } = selection;
    if (!sagaMachine.states.includes(status))
      throw new AmendsError("BAD_OPTION", `\`status\` is one of ${sagaMachine.states.join(", ")}.`);
    if (!Number.isInteger(limit) || limit < 1 || limit > LIST_MAX)
      throw new AmendsError("BAD_OPTION", `\`limit\` is a whole number from 1 to ${LIST_MAX}.`);
    const rows = await this.#ingress.query(sagasByStatus(checkName(name, "A saga's name"), status, limit));
    return rows.map((row) => ({ id: String(row["service_key"]), name, status }));
  }

  /** True if the saga was started now. */
  async #send({ name, id, version, input }: StartMessage, signal?: AbortSignal): Promise<boolean> {
    const order: StartOrder = { version, input };
    const sent = await this.#ingress.call(name, id, "run/send", order, signal);
    if ((sent as { status: string }).status === "Accepted") return true;
    const found = (await this.#ingress.call(name, id, "begun", undefined, signal)) as StartOrder;
    if (isSame(found, order)) return false;
    throw new AmendsError(
      "SAGA_CONFLICT",
      "A saga with this id exists with other input or another version. Use another id, or start it with the same input to get its outcome.",
      { id, name },
    );
  }
}

function isSame(one: StartOrder, other: StartOrder): boolean {
  return one.version === other.version && canonical(one) === canonical(other);
}

function canonical({ input }: StartOrder): string {
  return canonicalJson(JSON.parse(input));
}
