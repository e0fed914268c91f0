/**
 * Continues a chain of handlers in the same process. Slots are reserved before the outcome is written, the
 * following rows are inserted as claimed, and their handlers start after the commit with the new state of the run.
 * So a chain of handlers needs no claim query and no read between two handlers.
 */
import { BEGUN } from "../../core/flow/state.ts";
import type { NewDelivery } from "../../outbox/deliveries/row.ts";
import type { LeasePool, Reservation } from "../../runtime/lease-pool.ts";
import type { Lease } from "../../runtime/lease.ts";
import type { Clock } from "../../storage/clock.ts";
import type { SagaRegistry } from "../define/registry.ts";
import type { WriteAnswer } from "../store/outcome-writer.ts";
import type { Delivery, Outcome, RunRecord } from "./outcome.ts";

/** Every continuation ends with one of the two functions. */
export interface Continuation {
  /** The rows to insert as claimed. */
  readonly claims: readonly NewDelivery[];
  /** Begins the handlers of the rows that the write claimed. */
  accept(answer: WriteAnswer): void;
  /** The write failed: the reserved slots become free. Has no effect after `accept`. */
  cancel(): void;
}

/** The part of an outcome that decides what continues; a publication has only `out`. */
type Cause = Pick<Outcome, "out" | "move" | "queue">;

interface Where {
  readonly pool: LeasePool<Delivery>;
  readonly registry: SagaRegistry;
}

const NO_ROWS: readonly NewDelivery[] = [];
const ENDS_HERE: Continuation = {
  claims: NO_ROWS,
  accept: () => undefined,
  cancel: () => undefined,
};

/** `from` is the lease of the settled delivery: its slot is reused. */
export function continuation(
  { pool, registry }: Where,
  clock: Clock,
  cause: Cause,
  from: Lease | undefined,
): Continuation {
  const known = cause.out.rows.filter(({ handler }) => handler && registry.handler(handler));
  if (known.length === 0 && !cause.queue) return ENDS_HERE;
  const slots = known.length === 0 ? undefined : pool.reserve(known.length, from);
  return new Following(pool, clock, cause, known, slots);
}

class Following implements Continuation {
  readonly claims: readonly NewDelivery[];
  readonly #pool: LeasePool<Delivery>;
  readonly #clock: Clock;
  readonly #cause: Cause;
  readonly #known: readonly NewDelivery[];
  readonly #slots: Reservation<Delivery> | undefined;

  constructor(
    pool: LeasePool<Delivery>,
    clock: Clock,
    cause: Cause,
    known: readonly NewDelivery[],
    slots: Reservation<Delivery> | undefined,
  ) {
    this.claims = slots ? known : NO_ROWS;
    this.#pool = pool;
    this.#clock = clock;
    this.#cause = cause;
    this.#known = known;
    this.#slots = slots;
  }

  cancel(): void {
    this.#slots?.cancel();
  }

  accept({ isWritten, claimed, hasMore }: WriteAnswer): void {
    const next: Delivery[] = [];
    for (const row of isWritten ? this.claims : NO_ROWS) {
      const timeMs = claimed.get(row);
      if (timeMs !== undefined)
        next.push(claimedDelivery(row, timeMs, runAfter(this.#clock, row, this.#cause)));
    }
    if (next.length > 0) this.#slots?.begin(next);
    else this.#slots?.cancel();
    if (hasMore || (isWritten && this.#known.length > next.length)) this.#pool.dueIn(0);
  }
}

function claimedDelivery(row: NewDelivery, timeMs: number, run: RunRecord | undefined): Delivery {
  const { id, firstToken, eventId, name, version, payload, handler, correlation, causation, sagaId, trace } =
    row;
  return {
    id,
    token: firstToken,
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
    answer: undefined,
    place: undefined,
    run,
    trace,
  };
}

/** The run that a row belongs to, in its state after the commit. */
function runAfter(clock: Clock, row: NewDelivery, { out, move }: Cause): RunRecord | undefined {
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
