/**
 * Processes claimed deliveries. A delivery goes to its handler (handler-turn.ts); an event without a handler in the
 * publishing process is routed (route.ts). The follow-up rows of a handler's answer are inserted as claimed and
 * continue in this process, so a chain costs one commit per handler; concurrent chains share commits.
 */
import type { DatabaseWatch } from "../../storage/retry.ts";
import { errorLabel, labelIn } from "../../core/errors.ts";
import { sagaOfRecipient } from "../../core/flow/subscription.ts";
import { settled } from "../../core/outbox/machine.ts";
import { lookFor } from "../../runtime/duty.ts";
import { hastenDeliveries } from "../../outbox/deliveries/outcome-queries.ts";
import { LeasePool } from "../../runtime/lease-pool.ts";
import type { Lease } from "../../runtime/lease.ts";
import type { Tracer } from "../../runtime/trace.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { TellableEvent } from "../../sagas/journal/signals.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Database, Row } from "../../storage/database.ts";
import type { Sql } from "../../storage/sql.ts";
import type { RefusedWrites } from "../../storage/write/refused-writes.ts";
import type { SagaRegistry } from "../define/registry.ts";
import { isAtRest, RunListeners } from "../run-handle.ts";
import { selectRuns } from "../store/run-queries.ts";
import { STORED_RUN, trailOf } from "../store/run-row.ts";
import type { WriteAnswer } from "../store/outcome-writer.ts";
import type { SagaStore } from "../store/saga-store.ts";
import { FlowStore } from "../store/store.ts";
import { heartbeat, subscribe } from "../subscriptions/subscriptions.ts";
import { WaitLonger, type CallTools } from "./call.ts";
import { continuation, type Continuation } from "./continuation.ts";
import { FlowDecider } from "./decider.ts";
import { HandlerTurn } from "./handler-turn.ts";
import {
  NOTHING_OUT,
  type Delivery,
  type Fanout,
  type Move,
  type Outcome,
  type RunRecord,
} from "./outcome.ts";
import { applyAnswer, notifySagas, routeEvent, routeToSaga } from "./route.ts";

export interface EventEngineOptions {
  readonly db: Database;
  readonly registry: SagaRegistry;
  /** The application's own store of states. */
  readonly sagaStore: SagaStore | undefined;
  readonly leaseMs: number;
  readonly errorCodes: ReadonlySet<string>;
  readonly keepMessages: boolean;
  readonly graceMs: number;
  readonly closing: AbortSignal;
  readonly tracer: Tracer;
  /**
   * Starts a saga of steps, or finds it, and waits for its end. Undefined if the saga takes longer than one wait.
   */
  runSaga(saga: AnySaga, input: unknown, id: string, waitMs: number): Promise<SagaOutcome | undefined>;
  /** Passes an event on to the sagas of steps that wait for it. Idempotent. */
  tellSagas(
    event: TellableEvent,
    values: readonly (readonly [field: string, value: string])[],
  ): Promise<void>;
  onRefused(refused: RefusedWrites): void;
  readonly watch: DatabaseWatch;
  onBug(error: unknown): void;
  /** Logs a message for operators with ids, names and labels. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Called when something needs an operator, with ids, names and labels. */
  onAttention(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** How long one call waits for a saga of steps. */
const SAGA_WAIT_MS = 5_000;

export class EventEngine {
  readonly db: Database;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly registry: SagaRegistry;
  readonly store: FlowStore;
  readonly decider: FlowDecider;
  readonly pool: LeasePool<Delivery>;
  readonly callTools: CallTools;
  readonly listeners: RunListeners = new RunListeners();
  readonly onRefused: (refused: RefusedWrites) => void;
  readonly #options: EventEngineOptions;

  constructor(options: EventEngineOptions) {
    const { db, registry, leaseMs, closing, tracer, errorCodes, keepMessages, graceMs, watch } = options;
    this.onRefused = (refused) => options.onRefused(refused);
    this.#options = options;
    this.db = db;
    this.clock = db.clock;
    this.tracer = tracer;
    this.registry = registry;
    this.store = new FlowStore({
      db,
      leaseMs,
      signal: closing,
      watch,
      onRefused: this.onRefused,
      own: options.sagaStore,
    });
    this.decider = new FlowDecider(registry, db.clock);
    const warn: CallTools["warn"] = (fields, message) => options.warn(fields, message);
    const runSaga: CallTools["runSaga"] = (saga, input, id) => this.#runSaga(saga, input, id);
    this.callTools = { clock: db.clock, errorCodes, keepMessages, graceMs, runSaga, warn };
    const subscriptions = {
      dialect: db.dialect,
      registry,
      query: (statement: Sql): Promise<readonly Row[]> => this.store.query(statement),
    };
    this.pool = new LeasePool<Delivery>({
      check: () => subscribe(subscriptions),
      beat: () => heartbeat(subscriptions),
      name: "events",
      clock: db.clock,
      leaseMs,
      look: lookFor(() => this.store.untilDue(registry)),
      claim: (limit, except) => this.store.claim(registry, limit, except),
      renew: (held) => this.store.renew(held),
      run: (delivery, lease) => this.#run(delivery, lease),
      release: (delivery) => this.#release(delivery),
      drained: () => this.store.drained(),
      onBug: (error) => options.onBug(error),
    });
  }

  warn(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#options.warn(fields, message);
  }

  notifySagas(...event: Parameters<EventEngineOptions["tellSagas"]>): Promise<void> {
    return this.#options.tellSagas(...event);
  }

  /** Writes publications; rows are inserted as claimed by this process if it has free slots. */
  async publish(out: Fanout): Promise<void> {
    const next = this.continuation({ out }, undefined);
    try {
      next.accept(await this.store.publish(out, next.claims));
    } catch (error) {
      next.cancel();
      throw error;
    }
  }

  /** Writes an outcome; its follow-up rows are inserted as claimed by this process if it has free slots. */
  async settle(outcome: Outcome, delivery: Delivery, lease: Lease): Promise<WriteAnswer> {
    const next = this.continuation(outcome, lease);
    try {
      const answer = await this.store.settle(outcome, next.claims);
      next.accept(answer);
      if (answer.isWritten) this.announce(outcome, delivery, lease);
      if (answer.isWritten && outcome.move) await this.hastenLate(outcome.move);
      return answer;
    } catch (error) {
      next.cancel();
      throw error;
    }
  }

  /**
   * A run that turns back waits for the steps beside the failed one. One that waits for its next try is looked at now, and
   * not called again.
   */
  async hastenLate({ run, state }: Move): Promise<void> {
    if (run.state.status !== "running" || state.lateSteps.length === 0) return;
    const saga = this.registry.saga(run.sagaType);
    const handlers = state.lateSteps.flatMap((name) => saga?.step(name)?.handler.name ?? []);
    try {
      const { dialect } = this.db;
      const [row] = await this.store.query(selectRuns(dialect, [run.sagaId]));
      const trail = row ? trailOf(STORED_RUN.read(row)) : [];
      await this.store.query(hastenDeliveries(dialect, trail, handlers));
      this.pool.dueIn(0);
    } catch (error) {
      // Without this, each of them is looked at when its next try is due.
      const fields = { saga: run.sagaType, id: run.sagaId, error: errorLabel(error) };
      this.warn(fields, "amends: steps of a run that turns back could not be hastened");
    }
  }

  continuation(cause: Parameters<typeof continuation>[2], from: Lease | undefined): Continuation {
    return continuation(this, this.clock, cause, from);
  }

  /** The run of a delivery: its own, or the newest run of its process if the event came from outside. */
  async runOf({ sagaId, handler, correlation }: Delivery): Promise<RunRecord | undefined> {
    if (sagaId !== undefined) return (await this.store.runs([sagaId])).get(sagaId);
    const place = this.registry.mapping.get(handler ?? "");
    return place && correlation !== undefined
      ? this.store.newestRun(place.saga.name, correlation)
      : undefined;
  }

  /** Notifies the waiters of a run, and operators if the run needs one. */
  announce({ to, error, move }: Outcome, { id, name, handler }: Delivery, lease: Lease): void {
    // Waiters are notified after this delivery's slot is free.
    if (move && isAtRest(move.state.status))
      void lease.gone.then(() => this.listeners.notify(move.run.sagaId, move.state.status));
    if (to === settled("abandon")) {
      const fields = { id, event: name, handler, error: error === undefined ? error : labelIn(error) };
      this.#options.onAttention(fields, "amends: an event was abandoned and needs a person");
    }
    if (move?.state.status === "stalled") {
      const { sagaId, sagaType } = move.run;
      const stalled = { id: sagaId, saga: sagaType, step: move.state.undoSteps[0], error };
      this.#options.onAttention(stalled, "amends: a saga over events has stalled and needs a person");
    }
  }

  #run(delivery: Delivery, lease: Lease): Promise<void> {
    const saga = sagaOfRecipient(delivery.handler ?? "");
    if (saga !== undefined) return routeToSaga(this, saga, delivery, lease);
    const handler = this.registry.handler(delivery.handler ?? "");
    if (delivery.answer !== undefined) return applyAnswer(this, handler, delivery, lease);
    if (!handler) return routeEvent(this, delivery, lease);
    const fields = this.registry.waitedFields(handler.name);
    if (fields) return notifySagas(this, handler, fields, delivery, lease);
    return new HandlerTurn(this, handler, delivery, lease).take();
  }

  async #release(delivery: Delivery): Promise<void> {
    await this.store.settle({ delivery, to: settled("release"), uncounted: true, out: NOTHING_OUT });
  }

  /** A saga of steps may run long: the handler polls it and holds no slot between polls. */
  async #runSaga(saga: AnySaga, input: unknown, id: string): Promise<SagaOutcome> {
    const outcome = await this.#options.runSaga(saga, input, id, SAGA_WAIT_MS);
    // A stalled saga continues after an operator acts on it.
    if (outcome && outcome.status !== "STALLED") return outcome;
    throw new WaitLonger(SAGA_WAIT_MS);
  }
}
