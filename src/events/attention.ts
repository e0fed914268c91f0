/** What of the event flow needs a person: runs whose undo failed, and events that were given up. */
import type { FlowFailure } from "../core/flow/state.ts";
import { listAbandonedDeliveries, type Place } from "../outbox/deliveries/operator-queries.ts";
import { DELIVERY_STATE, type DeliveryState } from "../outbox/deliveries/row.ts";
import type { Database } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import { listStalledRuns } from "./store/run-queries.ts";
import { stateOf, STORED_RUN, type StoredRun } from "./store/run-row.ts";

export type EventAction = "retry" | "resolve";

/** A run that could not undo one of its steps. */
export interface StalledFlow {
  readonly kind: "stalled-flow";
  readonly id: string;
  readonly saga: string;
  readonly processId: string;
  readonly since: Date;
  /** For people. */
  readonly reason: string;
  /** The step whose undo failed. */
  readonly step: string | undefined;
  /** Why the run turned back. */
  readonly error: FlowFailure | undefined;
  readonly actions: readonly EventAction[];
}

/** An event that no longer fits its schema, that broke a contract, or whose handler used up its tries. */
export interface GivenUpEvent {
  readonly kind: "given-up-event";
  readonly id: string;
  readonly event: string;
  /** Undefined where it could not even be routed. */
  readonly handler: string | undefined;
  /** The run that waits for it. */
  readonly sagaId: string | undefined;
  readonly since: Date;
  /** For people. */
  readonly reason: string;
  readonly attempts: number;
  /** A label, never a message. */
  readonly error: string;
  readonly actions: readonly EventAction[];
}

export type EventAttention = StalledFlow | GivenUpEvent;

const ACTIONS: readonly EventAction[] = ["retry", "resolve"];

export async function listEventAttention(
  db: Database,
  limit: number,
  after: Place | undefined,
): Promise<readonly { readonly atMs: number; readonly item: EventAttention }[]> {
  const { dialect } = db;
  const [stalled, deliveries, events] = await Promise.all(
    [
      listStalledRuns(dialect, limit, after),
      listAbandonedDeliveries(dialect, "delivery", limit, after),
      listAbandonedDeliveries(dialect, "event", limit, after),
    ].map((statement) => persist(db, () => db.query(statement))),
  );
  return [
    ...(stalled ?? [])
      .map((row) => STORED_RUN.read(row))
      .map((run) => ({ atMs: run.updatedAt, item: stalledFlow(run) })),
    ...[...(deliveries ?? []), ...(events ?? [])]
      .map((row) => DELIVERY_STATE.read(row))
      .map((row) => ({ atMs: row.timeMs, item: givenUp(row) })),
  ];
}

function stalledFlow(run: StoredRun): StalledFlow {
  const { undoSteps, failure } = stateOf(run);
  return {
    kind: "stalled-flow",
    id: run.sagaId,
    saga: run.sagaType,
    processId: run.processId,
    since: new Date(run.updatedAt),
    reason: undoSteps[0] === undefined ? "its undo failed" : `the undo of step ${undoSteps[0]} failed`,
    step: undoSteps[0],
    error: failure,
    actions: ACTIONS,
  };
}

function givenUp(row: DeliveryState): GivenUpEvent {
  const { id, name, handler, sagaId, timeMs, attempts, lastError: error = "UnknownError" } = row;
  return {
    kind: "given-up-event",
    id,
    event: name,
    handler,
    sagaId: handler === undefined ? undefined : sagaId,
    since: new Date(timeMs),
    attempts,
    reason:
      handler === undefined ? `it could not be read: ${error}` : `handler ${handler} gave it up: ${error}`,
    error,
    actions: ACTIONS,
  };
}
