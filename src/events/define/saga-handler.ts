/** A handler whose work is a saga of steps: it is started with the event, and its end is the answer. */
import { AmendsError } from "../../core/errors.ts";
import { err, ok } from "../../core/result.ts";
import type { SagaDefinition } from "../../sagas/define/definition.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import type { AnyEvent, DeliveredOf, ValueOf } from "./event.ts";
import { handler, RUN_SAGA, type Handler, type RunSaga } from "./handler.ts";

/** The options of `sagaHandler`. */
export interface SagaHandlerOptions<
  On extends AnyEvent,
  Success extends AnyEvent,
  Failure extends AnyEvent,
  Input,
  Results,
  E,
> {
  /** The event that starts the saga. */
  readonly on: On;
  /** The event that is sent when the saga has completed. */
  readonly ok: Success;
  /** The event that is sent when the saga has failed. */
  readonly err: Failure;
  /** Registered in `sagas`, too. */
  readonly saga: SagaDefinition<Input, unknown, Results, E>;
  /** What the saga is started with. */
  input(event: DeliveredOf<On>): Input;
  /** The answer where the saga has completed. */
  completed(event: DeliveredOf<On>, results: Results): ValueOf<Success>;
  /** The answer where it has failed, and undone what it did. */
  failed(
    event: DeliveredOf<On>,
    failure: Extract<SagaOutcome<Results, E>, { status: "FAILED" }>,
  ): ValueOf<Failure>;
}

/**
 * The saga's id is made from the event's: however often the event is delivered, it is one saga. Waiting for it holds no
 * place for long, and a saga that stalls is waited for until a person has helped it on.
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
    async handle(event, context) {
      const run = (context as unknown as { readonly [RUN_SAGA]?: RunSaga })[RUN_SAGA];
      if (!run)
        throw new AmendsError("NOT_SUPPORTED", `Handler ${name} runs a saga: call it through a worker.`);
      const id = `${event.id}.${name}`;
      const outcome = (await run(saga, options.input(event), id)) as SagaOutcome<Results, E>;
      if (outcome.status === "COMPLETED") return ok(options.completed(event, outcome.results));
      return err(options.failed(event, outcome as Extract<typeof outcome, { status: "FAILED" }>));
    },
  });
}
