/** The workflows that Restate serves: one for each saga name, in which all its versions run. The id of a saga is the workflow's key. */
import { positiveMs, type Duration } from "../core/duration.ts";
import { refuseUnknown } from "../core/options.ts";
import { systemClock, wallMs, type Clock } from "../storage/clock.ts";
import type { AnySaga } from "../sagas/define/definition.ts";
import type { Registry } from "../sagas/define/registry.ts";
import { Breakers } from "../sagas/engine/breakers.ts";
import type { Middleware } from "../sagas/engine/call.ts";
import type { SagaOutcome } from "../sagas/view/outcome.ts";
import { checked } from "./run/definitions.ts";
import type { HostTools } from "./run/saga-host.ts";
import { play } from "./run/play.ts";
import { readers, type Readers } from "./readers.ts";
import type { Race, RestateSdk, RunContext } from "./sdk.ts";
import { BEGUN, type StartOrder } from "./stored-saga.ts";

/** The options of `sagaWorkflows`. */
export interface SagaWorkflowOptions {
  /** The definitions that this service runs, several versions of one saga included. */
  readonly sagas: readonly AnySaga[];
  /** Wraps every act and every compensation. Default: none. */
  readonly middleware?: readonly Middleware[];
  /** Codes of errors that may be stored as labels, beside the classes' names. Default: none. */
  readonly errorCodes?: readonly string[];
  /** Whether messages of errors are stored if a saga does not say. They may carry personal data. Default: false. */
  readonly keepMessages?: boolean;
  /** How long a call whose time is over may still take to return. Default: 10s. */
  readonly grace?: Duration;
  /** How long an ended saga is kept. For so long, its id answers with its outcome. Default: 30d. */
  readonly retention?: Duration;
  /**
   * How long a call may run after Restate has asked for its end, which it does after a minute of silence. A longer call is made again
   * while it may still run. Default: 1h.
   */
  readonly abortTimeout?: Duration;
}

const KNOWN = ["sagas", "middleware", "errorCodes", "keepMessages", "grace", "retention", "abortTimeout"];

/** The handlers of a workflow that runs sagas. */
interface Handlers extends Readers {
  run(context: RunContext, order: StartOrder): Promise<SagaOutcome>;
}

/**
 * Makes the workflows that run these sagas in Restate: pass them to `serve` or `endpoint` of the SDK. `restate` is the module
 * `@restatedev/restate-sdk`. Throws `BAD_DEFINITION` if a saga has something that Restate cannot keep.
 */
export function sagaWorkflows<Service>(
  restate: RestateSdk<Service>,
  options: SagaWorkflowOptions,
): Service[] {
  refuseUnknown(options, KNOWN, "sagaWorkflows");
  const registry = checked(options.sagas);
  const tools = toolsOf(restate, options);
  const retention = positiveMs(options.retention ?? "30d", "retention");
  const abortTimeout = positiveMs(options.abortTimeout ?? "1h", "abortTimeout");
  return [...new Set(registry.all.map(({ name }) => name))].map((name) => {
    const definition = {
      name,
      handlers: handlersOf(restate, registry, tools, name),
      options: {
        // Restate's own cancellation turns the saga back, as any other one does.
        explicitCancellation: true,
        workflowRetention: retention,
        journalRetention: retention,
        abortTimeout,
        onJournalMismatchErrors: "pause",
        // Readers wait for the saga: what they read is to be newer than their own beginning.
        enableLazyState: true,
      },
    };
    return restate.workflow(definition as never);
  });
}

function handlersOf<Service>(
  restate: RestateSdk<Service>,
  registry: Registry,
  tools: HostTools,
  name: string,
): Handlers {
  const pause = (message: string): never => {
    throw new restate.PauseError(message);
  };
  return {
    async run(context, order) {
      await context.promise<StartOrder>(BEGUN).resolve(order);
      const definition = registry.get(name, order.version);
      const known = registry.all.map((one) => `${one.name}@${one.version}`).join(", ");
      if (!definition)
        return pause(
          `Version ${order.version} of saga ${name} is not served here (served: ${known}). Serve it, and resume the saga.`,
        );
      return play(context, tools, definition, order, pause);
    },
    ...readers(name, tools.race),
  };
}

function toolsOf<Service>(restate: RestateSdk<Service>, options: SagaWorkflowOptions): HostTools {
  return {
    race: ((promises) => restate.RestatePromise.race(promises as never)) as Race,
    // The events and calls of steps need the outbox of a database.
    journal: { keepsEvents: false },
    clock: CLOCK,
    middleware: options.middleware ?? [],
    errorCodes: new Set(options.errorCodes),
    keepMessages: options.keepMessages === true,
    graceMs: positiveMs(options.grace ?? "10s", "grace"),
    breakers: new Breakers(CLOCK),
    newId: () => crypto.randomUUID(),
  };
}

/** Time limits go on in another process: they are measured by instants that every process knows. */
const CLOCK: Clock = {
  monotonicMs: () => wallMs(systemClock),
  after: (ms, callback) => systemClock.after(ms, callback),
};
