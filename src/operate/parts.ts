/** Builds the parts that `new Amends` was asked for, and says which option is missing where one was not. */
import { AmendsError } from "../core/errors.ts";
import { Bulk } from "../bulk/bulk.ts";
import type { BulkTools } from "../bulk/carry-out.ts";
import { Erasure } from "../erasure/erasure.ts";
import { EventFlow } from "../events/flow.ts";
import type { SagaPort } from "../events/set-up.ts";
import { Calls } from "../outbox/calls/calls.ts";
import type { AnySaga } from "../sagas/define/definition.ts";
import type { Registry } from "../sagas/define/registry.ts";
import type { Starts } from "../sagas/start/starts.ts";
import { tellSagas, type SignalTools } from "../sagas/journal/signals.ts";
import { SagaRun, type HandleTools } from "../sagas/view/handle.ts";
import type { SagaView } from "../sagas/view/view.ts";
import type { Duty } from "../runtime/duty.ts";
import type { Part, PartContext } from "../runtime/part.ts";
import type { ScheduledSagas } from "../schedules/sagas.ts";
import { Schedules } from "../schedules/schedules.ts";
import { Webhooks } from "../webhooks/webhooks.ts";
import type { DatabaseOptions, PartName } from "./amends-options.ts";
import { Retention } from "./retention/retention.ts";

/** A part that was not configured is undefined. */
export interface Parts<Tx = unknown, Category extends string = string> {
  events: EventFlow<Tx> | undefined;
  readonly calls: Calls<Tx> | undefined;
  readonly webhooks: Webhooks<Tx> | undefined;
  readonly erasure: Erasure<Tx, Category> | undefined;
  readonly retention: Retention | undefined;
  /** Undefined on a storage that the user implements. */
  readonly schedules: Schedules<Tx> | undefined;
  /** Undefined on a storage that the user implements. */
  readonly bulk: Bulk | undefined;
}

/** What the parts ask of the sagas of steps. */
export interface SagaTools extends SagaPort {
  readonly scheduled: ScheduledSagas;
  readonly operators: BulkTools["operators"];
  inspect(id: string): Promise<SagaView | undefined>;
}

export function buildParts<Tx, Category extends string>(
  context: PartContext<Tx>,
  options: DatabaseOptions<Tx, Category>,
  sagas: SagaTools,
): Parts<Tx, Category> {
  const { calls, webhooks, erasure, retention } = options;
  const made = webhooks && new Webhooks(context, webhooks);
  const consumers = made?.consumers() ?? [];
  // What waits for an event, or makes a webhook of it, needs events delivered, whether or not this process has handlers.
  const needsEvents = consumers.length > 0 || sagas.known.some(waitsForEvent);
  const erasing = erasure && new Erasure(context, erasure);
  let own: Webhooks<Tx> | undefined;
  const bulk = new Bulk(context, {
    operators: (item) => sagas.operators(item),
    webhooks: () => made ?? (own ??= new Webhooks(context)),
    close: async () => own?.close(),
    erasures: erasing?.outbox,
  });
  const events = options.events ?? (needsEvents ? [] : undefined);
  return {
    events: events && new EventFlow(context, events, sagas, consumers),
    calls: calls && new Calls(context, calls),
    webhooks: made,
    erasure: erasing,
    retention: retention && new Retention(context, retention, (id) => sagas.inspect(id)),
    schedules: new Schedules(context, sagas.scheduled),
    bulk,
  };
}

/** The parts of an Amends on a storage that the user implements. */
export function noParts<Tx, Category extends string>(): Parts<Tx, Category> {
  return {
    events: undefined,
    calls: undefined,
    webhooks: undefined,
    erasure: undefined,
    retention: undefined,
    schedules: undefined,
    bulk: undefined,
  };
}

export function waitsForEvent({ steps }: AnySaga): boolean {
  return steps.some(({ interests }) => interests !== undefined);
}

/** What the worker drives for them. */
export function dutiesOf(parts: Parts): readonly Duty[] {
  return all(parts).flatMap(({ duties }) => duties);
}

export async function closeParts(parts: Parts): Promise<void> {
  for (const part of all(parts)) await part.close?.();
}

function all(parts: Parts): readonly Part[] {
  const made: readonly (Part | undefined)[] = Object.values<Part | undefined>({ ...parts });
  return made.filter((part) => part !== undefined);
}

const ADVICE: Readonly<Record<PartName, readonly [what: string, option: string]>> = {
  events: ["Events are", "events: []"],
  calls: ["Calls are", "calls: []"],
  webhooks: ["Webhooks are", "webhooks: {}"],
  erasure: ["Erasure is", "erasure: { dataMap }"],
  retention: ["Retention is", 'retention: { sagas: "90d" }'],
};

/** The part, or an error that says how to configure it. */
export function configured<T>(part: T | undefined, name: PartName): T {
  if (part !== undefined) return part;
  const [what, option] = ADVICE[name];
  throw new AmendsError("NOT_CONFIGURED", `${what} not configured. Pass \`${option}\` to \`new Amends\`.`, {
    part: name,
  });
}

export function noDatabase(): AmendsError {
  return new AmendsError("NOT_SUPPORTED", "A custom `storage` holds sagas only. Pass `database` instead.");
}

export interface SagaSources {
  readonly registry: Registry;
  readonly starts: Starts;
  readonly scheduled: ScheduledSagas;
  readonly operators: BulkTools["operators"];
  readonly handles: () => HandleTools;
  readonly signals: () => SignalTools<unknown>;
  readonly inspect: SagaTools["inspect"];
}

export function sagaToolsOf(sources: SagaSources): SagaTools {
  const { registry, starts, scheduled, operators, handles, signals, inspect } = sources;
  return {
    known: registry.all,
    scheduled,
    operators,
    inspect,
    runSaga: async (saga, input, id, timeout) => {
      const run = new SagaRun(handles(), await starts.start(saga, input, { id }, undefined));
      return run.result({ timeout }).catch(undefinedIfStopped);
    },
    tellSagas: (event, values) => tellSagas(signals(), event, values),
  };
}

/** A wait that ended early has no result yet. */
function undefinedIfStopped(error: unknown): undefined {
  if (!(error instanceof AmendsError && error.code === "STOPPED_WAITING")) throw error;
}
