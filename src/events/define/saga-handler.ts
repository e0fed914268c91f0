/** A handler that runs a saga of steps: the event starts the saga, and its outcome is the handler's answer. */
import { AmendsError } from "../../core/errors.ts";
import { err, ok } from "../../core/result.ts";
import type { SagaDefinition } from "../../sagas/define/definition.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import type { AnyEvent, DeliveredOf, ValueOf } from "./event.ts";
import { handler, RUN_SAGA, type Answer, type Handler, type RunSaga } from "./handler.ts";

/** The options of `sagaHandler`. */
export interface SagaHandlerOptions<
  On extends AnyEvent,
  Success extends AnyEvent,
  Failure extends AnyEvent,
  Input,
  Results,
  E,
> {
  /** The type of event that starts the saga. */
  readonly on: On;
  /** The type of event that follows a completed saga. */
  readonly ok: Success;
  /** The type of event that follows a failed saga. */
  readonly err: Failure;
  /** The saga to run. Register it in `sagas` as well. */
  readonly saga: SagaDefinition<Input, unknown, Results, E>;
  /** Returns the input of the saga. */
  input(event: DeliveredOf<On>): Input;
  /** Makes the success event of a completed saga. */
  completed(event: DeliveredOf<On>, results: Results): ValueOf<Success>;
  /** Makes the failure event of a saga that failed and was compensated. */
  failed(
    event: DeliveredOf<On>,
    failure: Extract<SagaOutcome<Results, E>, { status: "FAILED" }>,
  ): ValueOf<Failure>;
}

/**
 * Defines a handler that runs a saga of steps and answers with its outcome. The saga's id is derived from the event's,
 * so that repeated deliveries run one saga. The handler does not hold its slot while the saga runs, and waits for a stalled
 * saga until an operator resolves it.
 */
export function sagaHandler<
  On extends AnyEvent,
  Success extends AnyEvent,
  Failure extends AnyEvent,
  Input,
  Results,
  E,
>(
  name: string,
  options: SagaHandlerOptions<On, Success, Failure, Input, Results, E>,
): Handler<On, Success, Failure> {
  const { on, ok: success, err: failure, saga } = options;
  return handler<On, Success, Failure>(name, {
    on,
    ok: success,
    err: failure,
    async handle(taken, context) {
      const event = taken as DeliveredOf<On>;
      const run = (context as unknown as { readonly [RUN_SAGA]?: RunSaga })[RUN_SAGA];
      if (!run)
        throw new AmendsError("NOT_SUPPORTED", `Handler ${name} runs a saga: call it through a worker.`);
      const id = `${event.id}.${name}`;
      const outcome = (await run(saga, options.input(event), id)) as SagaOutcome<Results, E>;
      if (outcome.status === "COMPLETED")
        return ok(options.completed(event, outcome.results)) as Answer<Success, Failure>;
      return err(options.failed(event, outcome as Extract<typeof outcome, { status: "FAILED" }>));
    },
  });
}
