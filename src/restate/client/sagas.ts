/** Starts sagas in Restate and operates them, from any process. It needs no SDK: it talks to Restate's ingress. */
import { AmendsError } from "../../core/errors.ts";
import { checkId, checkName } from "../../core/identity.ts";
import { canonicalJson } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { AnySaga, SagaDefinition } from "../../sagas/define/definition.ts";
import { throughSchema } from "../../sagas/define/input.ts";
import { RestateSaga } from "./handle.ts";
import { Ingress, type RestateAddress } from "./ingress.ts";
import { sagasByStatus } from "./queries.ts";
import type { StartOrder } from "../stored-saga.ts";

/** The id of a saga that is to be started. */
export interface RestateStart {
  /** The id of the saga. The same id with the same input is the same saga. Default: a new one. */
  readonly id?: string;
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
  readonly #ingress: Ingress;

  constructor(address: RestateAddress) {
    refuseUnknown(address, ["ingress", "admin", "headers"], "RestateSagas");
    this.#ingress = new Ingress(address);
  }

  /**
   * Starts a saga. An id that exists is the same saga if version and input are the same; otherwise the call is refused with
   * `SAGA_CONFLICT`. Restate knows an id as long as it keeps the saga (`retention`).
   */
  async start<Input, Results, Failure>(
    saga: SagaDefinition<Input, unknown, Results, Failure>,
    input: Input,
    options: RestateStart = {},
  ): Promise<RestateSaga<Results, Failure>> {
    refuseUnknown(options, ["id"], "RestateSagas.start");
    const id = options.id === undefined ? crypto.randomUUID() : checkId(options.id, "The id of a saga");
    const field = `The input of saga ${saga.name}`;
    const text = await throughSchema(saga.schema, input, field, "(input)");
    const order: StartOrder = { version: saga.version, input: text };
    const { status } = (await this.#ingress.call(saga.name, id, "run/send", order)) as { status: string };
    const isNew = status === "Accepted";
    if (!isNew) await this.#check(saga.name, id, order);
    return new RestateSaga(this.#ingress, saga.name, id, isNew);
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

  async #check(name: string, id: string, order: StartOrder): Promise<void> {
    const found = (await this.#ingress.call(name, id, "begun")) as StartOrder;
    if (isSame(found, order)) return;
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
