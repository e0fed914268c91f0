/** What of the event flow needs a person: runs whose undo failed, and events that were given up. */
import type { FlowFailure } from "../core/flow/state.ts";
import type { Database, Row } from "../storage/database.ts";
import { persist } from "../storage/retry.ts";
import type { Sql } from "../storage/sql.ts";
import { listGivenUp, listStalledRuns, type Cursor } from "./store/queries.ts";
import { toDelivery, toState } from "./store/rows.ts";

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
  after: Cursor | undefined,
  kind?: string,
): Promise<readonly { readonly atMs: number; readonly item: EventAttention }[]> {
  const { dialect } = db;
  const query = (statement: Sql): Promise<readonly Row[]> => persist(db, () => db.query(statement));
  const isWanted = (one: EventAttention["kind"]): boolean => kind === undefined || kind === one;
  const [stalled, ...abandoned] = await Promise.all([
    isWanted("stalled-flow") ? query(listStalledRuns(dialect, limit, after)) : [],
    ...(["delivery", "event"] as const).map((of) =>
      isWanted("given-up-event") ? query(listGivenUp(dialect, of, limit, after)) : [],
    ),
  ]);
  return [
    ...stalled.map((row) => ({ atMs: Number(row["updated_at"]), item: stalledFlow(row) })),
    ...abandoned.flat().map((row) => ({ atMs: Number(row["enqueued_at"]), item: givenUp(row) })),
  ];
}

function stalledFlow(row: Row): StalledFlow {
  const { undoSteps, failure } = toState(row);
  return {
    kind: "stalled-flow",
    id: row["saga_id"] as string,
    saga: row["saga_type"] as string,
    processId: row["process_id"] as string,
    since: new Date(Number(row["updated_at"])),
    reason: undoSteps[0] === undefined ? "its undo failed" : `the undo of step ${undoSteps[0]} failed`,
    step: undoSteps[0],
    error: failure,
    actions: ACTIONS,
  };
}

function givenUp(row: Row): GivenUpEvent {
  const { id, name, handler, sagaId, timeMs, attempts } = toDelivery(row);
  const error = (row["last_error"] as string | null) ?? "UnknownError";
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
