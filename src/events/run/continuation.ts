/**
 * What an outcome brings on goes on where it came about: places are kept at the desk before the outcome is written, the
 * rows are written as claimed, and begin once they are durable, with the run as it stands then.
 */
import { FIRST_CLAIM } from "../../core/claim-token.ts";
import { BEGUN } from "../../core/flow/state.ts";
import type { Clock } from "../../storage/clock.ts";
import type { LeasePool, Reservation } from "../../runtime/lease-pool.ts";
import type { Lease } from "../../runtime/lease.ts";
import type { Delivery, NewRow, RunRecord, Settlement } from "./delivery.ts";
import type { SagaRegistry } from "../define/registry.ts";
import type { Settled } from "../store/settle.ts";

/** Exactly one of the two is called. */
export interface Continuation {
  /** The rows that are to be written as claimed. */
  readonly claims: readonly NewRow[];
  accept(answer: Settled): void;
  cancel(): void;
  /** Cancels where the write fails. */
  writing<T>(write: Promise<T>): Promise<T>;
}

interface Where {
  readonly pool: LeasePool<Delivery>;
  readonly registry: SagaRegistry;
}

const NO_ROWS: readonly NewRow[] = [];
const ENDS_HERE: Continuation = {
  claims: NO_ROWS,
  accept: () => undefined,
  cancel: () => undefined,
  writing: (write) => write,
};

export function continuation(
  { pool, registry }: Where,
  clock: Clock,
  settlement: Settlement,
  from: Lease | undefined,
): Continuation {
  const mine = settlement.out.rows.filter(({ handler }) => handler && registry.handler(handler));
  if (mine.length === 0)
    return settlement.queue ? new Following(pool, clock, settlement, mine, undefined) : ENDS_HERE;
  return new Following(pool, clock, settlement, mine, pool.reserve(mine.length, from));
}

class Following implements Continuation {
  readonly claims: readonly NewRow[];
  readonly #pool: LeasePool<Delivery>;
  readonly #clock: Clock;
  readonly #settlement: Settlement;
  readonly #mine: readonly NewRow[];
  readonly #places: Reservation<Delivery> | undefined;

  constructor(
    pool: LeasePool<Delivery>,
    clock: Clock,
    settlement: Settlement,
    mine: readonly NewRow[],
    places: Reservation<Delivery> | undefined,
  ) {
    this.claims = places ? mine : NO_ROWS;
    this.#pool = pool;
    this.#clock = clock;
    this.#settlement = settlement;
    this.#mine = mine;
    this.#places = places;
  }

  cancel(): void {
    this.#places?.cancel();
  }

  async writing<T>(write: Promise<T>): Promise<T> {
    try {
      return await write;
    } catch (error) {
      this.cancel();
      throw error;
    }
  }

  accept({ applied, claimed, more }: Settled): void {
    const next: Delivery[] = [];
    for (const row of applied ? this.claims : NO_ROWS) {
      const timeMs = claimed.get(row);
      if (timeMs !== undefined) next.push(claimedRow(this.#clock, row, this.#settlement, timeMs));
    }
    if (next.length > 0) this.#places?.begin(next);
    else this.#places?.cancel();
    if (more || (applied && this.#mine.length > next.length)) this.#pool.dueIn(0);
  }
}

function claimedRow(clock: Clock, row: NewRow, settlement: Settlement, timeMs: number): Delivery {
  const { id, eventId, name, version, payload, handler, correlation, causation, sagaId } = row;
  return {
    id,
    token: FIRST_CLAIM,
    eventId,
    name,
    version,
    payload,
    handler,
    correlation,
    causation,
    sagaId,
    attempts: 1,
    timeMs,
    run: runAfter(clock, row, settlement),
    trace: settlement.trace,
  };
}

/** The run that a row belongs to, as it stands when both are written. */
function runAfter(clock: Clock, row: NewRow, { out, move }: Settlement): RunRecord | undefined {
  if (row.opens) {
    const begun = out.runs.find((run) => run.sagaId === row.sagaId);
    if (!begun) return undefined;
    const { sagaId, sagaType, processId } = begun;
    const deadlineAtMs = later(clock, begun.deadlineMs);
    const dueAtMs = earlier(deadlineAtMs, later(clock, begun.stepMs));
    return { sagaId, sagaType, processId, version: 1, state: BEGUN, dueAtMs, deadlineAtMs };
  }
  if (!move || move.run.sagaId !== row.sagaId) return undefined;
  const { sagaId, sagaType, processId, version, deadlineAtMs } = move.run;
  const { state, stepMs } = move;
  const stepAtMs = stepMs === "rest" ? undefined : later(clock, stepMs);
  const dueAtMs = state.status === "running" ? earlier(deadlineAtMs, stepAtMs) : undefined;
  return { sagaId, sagaType, processId, version: version + 1, state, dueAtMs, deadlineAtMs };
}

function later(clock: Clock, ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : clock.monotonicMs() + ms;
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
