/**
 * Claimed deliveries at work: read the event, call the handler, let the orchestrator decide, book everything at once.
 * What a handler's answer brings on is claimed as it is written and goes on in this process, so that a chain costs one
 * commit per handler; with many chains at once, many of them share one.
 */
import { delayMs } from "../../core/backoff.ts";
import { claimCount } from "../../core/claim-token.ts";
import { errorLabel } from "../../core/errors.ts";
import { SUPERSEDED, settled } from "../../core/outbox/machine.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Database } from "../../storage/database.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { matchValue } from "../../sagas/define/interests.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import type { TellableEvent } from "../../sagas/journal/signals.ts";
import { LeasePool } from "../../runtime/lease-pool.ts";
import { graceInTransaction } from "../../runtime/own-transaction.ts";
import type { Lease } from "../../runtime/lease.ts";
import { untraced, type Tracer } from "../../runtime/trace.ts";
import {
  callHandler,
  DEADLINE_PASSED,
  Parked,
  readEvent,
  type Again,
  type CallTools,
  type Request,
} from "./call.ts";
import { continuation } from "./continuation.ts";
import { NOTHING_OUT, type Delivery, type RunRecord, type Settlement } from "./delivery.ts";
import { fanOut } from "./fanout.ts";
import type { AnyHandler } from "../define/handler.ts";
import { spanOf } from "./handler-span.ts";
import { SagaOrchestrator, type HandlerEnd } from "./orchestrator.ts";
import { selectHeld, selectSettled } from "../store/queries.ts";
import { endInTime } from "./late-handler.ts";
import type { SagaRegistry } from "../define/registry.ts";
import { FlowNews, isAtRest } from "../run-handle.ts";
import { SagaStore } from "../store/store.ts";
import type { Settled } from "../store/settle.ts";
import { handleInTransaction } from "./transactional.ts";

export interface EventEngineOptions {
  readonly db: Database;
  readonly registry: SagaRegistry;
  readonly leaseMs: number;
  readonly errorCodes: ReadonlySet<string>;
  readonly graceMs: number;
  readonly closing: AbortSignal;
  readonly tracer: Tracer;
  /** Starts a saga of steps, or finds it, and waits for its end; undefined where that takes longer. */
  runSaga(saga: AnySaga, input: unknown, id: string, waitMs: number): Promise<SagaOutcome | undefined>;
  /** Hands an event on to the sagas of steps that wait for one with such a value. Safe to repeat. */
  tellSagas(
    event: TellableEvent,
    values: readonly (readonly [field: string, value: string])[],
  ): Promise<void>;
  onTrouble(error: unknown, attempt: number): void;
  onBug(error: unknown): void;
  /** What an operator should know: ids, names and labels. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Something needs a person now: ids, names and labels. */
  onAttention(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** What an end of a handler still needs: nothing, or another look at a run that has moved on; `called`: after a call. */
type Booked = "done" | "again" | "called";

export class EventEngine {
  readonly registry: SagaRegistry;
  readonly store: SagaStore;
  readonly orchestrator: SagaOrchestrator;
  readonly pool: LeasePool<Delivery>;
  readonly tracer: Tracer;
  readonly news: FlowNews = new FlowNews();
  readonly #options: EventEngineOptions;
  readonly #clock: Clock;
  readonly #tools: CallTools;

  constructor(options: EventEngineOptions) {
    const { db, registry, leaseMs, closing } = options;
    const onTrouble = (error: unknown, attempt: number): void => options.onTrouble(error, attempt);
    this.#options = options;
    this.#clock = db.clock;
    this.#tools = {
      clock: db.clock,
      errorCodes: options.errorCodes,
      runSaga: (saga, input, id) => this.#runSaga(saga, input, id),
      graceMs: options.graceMs,
    };
    this.registry = registry;
    this.tracer = options.tracer;
    this.store = new SagaStore({ db, leaseMs, signal: closing, onTrouble });
    this.orchestrator = new SagaOrchestrator(registry);
    this.pool = new LeasePool<Delivery>({
      name: "events",
      clock: db.clock,
      leaseMs,
      claim: (limit, except) => this.store.claim(registry, limit, except),
      renew: (held) => this.store.renew(held),
      run: (delivery, lease) => this.#run(delivery, lease),
      release: (delivery) => this.#release(delivery),
      drained: () => this.store.drained(),
      onBug: (error) => options.onBug(error),
    });
  }

  /** What an operator should know. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#options.warn(fields, message);
  }

  /** Writes what was settled, and takes what it brings on where there is room for it. */
  async settle(settlement: Settlement, from?: Lease): Promise<Settled> {
    const next = continuation(this, this.#clock, settlement, from);
    const answer = await next.writing(this.store.settle(settlement, next.claims));
    next.accept(answer);
    return answer;
  }

  async #run(delivery: Delivery, lease: Lease): Promise<void> {
    const handler = this.registry.handler(delivery.handler ?? "");
    if (!handler) return this.#route(delivery, lease);
    const fields = this.registry.waitedFields(handler.name);
    if (fields) return void (await this.#tellSagas(handler, delivery, fields, lease));
    let { run } = delivery;
    run ??= await this.#runOf(delivery);
    // Whoever held it before may have called the handler: every claim raises the token, given back or not.
    let unbegun = claimCount(delivery.token) <= 1;
    // A run that moved on meanwhile is decided on again, from how it stands then.
    for (let booked: Booked = "again"; booked !== "done";) {
      booked = await this.#handle(handler, delivery, run, lease, unbegun);
      unbegun &&= booked !== "called";
      if (booked !== "done") run = await this.#runOf(delivery);
    }
  }

  /** The run that a delivery belongs to: its own, or the newest of its process where it came from outside. */
  async #runOf({ sagaId, handler, correlation }: Delivery): Promise<RunRecord | undefined> {
    if (sagaId !== undefined) return (await this.store.runs([sagaId])).get(sagaId);
    const place = this.registry.mapping.get(handler ?? "");
    return place && correlation !== undefined ? this.store.get(place.saga.name, correlation) : undefined;
  }

  async #handle(
    handler: AnyHandler,
    delivery: Delivery,
    run: RunRecord | undefined,
    lease: Lease,
    unbegun: boolean,
  ): Promise<Booked> {
    const role = this.orchestrator.role(delivery, run);
    if (role.kind === "past" || role.kind === "early") return this.#book(delivery, run, NO_END, lease);
    // Its run has turned back. Whoever ran it before is gone, and may have done it or not.
    const isLate = role.kind === "act" && run?.state.status !== "running";
    if (isLate) return this.#book(delivery, run, { end: "exhausted", error: "LeaseExpired", unbegun }, lease);
    if (role.kind === "act" && run?.dueAtMs !== undefined && run.dueAtMs <= this.#clock.monotonicMs()) {
      return this.#bookExpired(delivery, run, lease, unbegun ? "unbegun" : "doubtful");
    }
    if (delivery.attempts > handler.retry.attemptMax) {
      return this.#book(delivery, run, { end: "exhausted", error: "TriesUsedUp" }, lease);
    }
    const event = readEvent(handler, delivery);
    if (!event) return this.#abandon(delivery, "UnreadableEvent", lease);
    const request = { handler, event, delivery, run, role, lease };
    if (this.tracer === untraced) return this.#call(request);
    let failed: string | undefined;
    return this.tracer.run(
      () => spanOf(handler, delivery),
      // What it brings on is below its own span.
      (trace) =>
        this.#call(
          trace === undefined ? request : { ...request, delivery: { ...delivery, trace } },
          (label) => void (failed = label),
        ),
      () => failed,
    );
  }

  async #call(request: Request, onFailure?: (label: string) => void): Promise<Booked> {
    const { handler, delivery, run, role, lease } = request;
    const end = handler.transaction
      ? await this.#inTransaction(request)
      : await endInTime(this, request, await callHandler(this.#tools, request, undefined));
    if (end === "done") return end;
    // Refused: the run has moved on, or the delivery is somebody else's now.
    if (end === "again") return (await this.#isHeld(delivery)) ? "called" : lost(lease);
    if (end === undefined) return "done"; // it was stopped: the claim is given back, or is somebody else's
    if (end.end === "again" || end.end === "exhausted") onFailure?.(end.error);
    if (end.end === "again") return this.#later(delivery, role.kind === "act" ? run : undefined, end, lease);
    return this.#bookUntilDone(delivery, run, end, lease);
  }

  /** The handler has run and must not run again: only the decision is made anew, until it holds. */
  async #bookUntilDone(
    delivery: Delivery,
    run: RunRecord | undefined,
    end: HandlerEnd,
    lease: Lease,
  ): Promise<Booked> {
    let now = run;
    while ((await this.#book(delivery, now, end, lease)) === "again") now = await this.#runOf(delivery);
    return "done";
  }

  async #book(
    delivery: Delivery,
    run: RunRecord | undefined,
    end: HandlerEnd,
    lease: Lease,
  ): Promise<Booked> {
    const settlement = this.#decide(delivery, run, end);
    const { applied } = await this.settle(settlement, lease);
    if (applied) this.#tell(settlement, delivery, lease);
    if (applied) return "done";
    const now = settlement.move && (await this.#runOf(delivery));
    return now && now.version !== run?.version ? "again" : lost(lease);
  }

  async #isHeld(delivery: Delivery): Promise<boolean> {
    const { dialect } = this.#options.db;
    return (await this.store.query(selectHeld(dialect, delivery))).length > 0;
  }

  /** A saga of steps may take its time: it is looked at again and again, without a place being held. */
  async #runSaga(saga: AnySaga, input: unknown, id: string): Promise<SagaOutcome> {
    const outcome = await this.#options.runSaga(saga, input, id, SAGA_WAIT_MS);
    // One that has stalled waits for a person, who will help it on.
    if (outcome && outcome.status !== "STALLED") return outcome;
    throw new Parked(SAGA_WAIT_MS);
  }

  /** Its time was up before it began: it is not called any more. */
  async #bookExpired(
    delivery: Delivery,
    run: RunRecord,
    lease: Lease,
    before: "unbegun" | "doubtful",
  ): Promise<Booked> {
    const decided = this.orchestrator.steer(run, { kind: "deadline", delivery: before });
    const settlement = {
      delivery,
      to: SUPERSEDED,
      error: DEADLINE_PASSED,
      out: NOTHING_OUT,
      ...decided,
      trace: delivery.trace,
    };
    const { applied } = await this.settle(settlement, lease);
    if (applied) this.#tell(settlement, delivery, lease);
    if (applied) return "done";
    return (await this.#runOf(delivery))?.version === run.version ? lost(lease) : "again";
  }

  #inTransaction(request: Request): ReturnType<typeof handleInTransaction> {
    const { db } = this.#options;
    const { delivery, run, lease } = request;
    const tools = { ...this.#tools, graceMs: graceInTransaction(db, this.#tools.graceMs) };
    return handleInTransaction({
      db,
      signal: lease.signal,
      call: (tx) => callHandler(tools, request, tx),
      onLate: (late) => lease.keepOrphan(late),
      write: async (session, end) => {
        const settlement = this.#decide(delivery, run, end);
        const next = continuation(this, this.#clock, settlement, lease);
        const answer = await next.writing(this.store.settleIn(session, settlement, next.claims));
        const accept = (): void => {
          next.accept(answer);
          this.#tell(settlement, delivery, lease);
        };
        if (answer.applied) return { accept, cancel: () => next.cancel() };
        next.cancel();
        return undefined;
      },
      isSettled: async () => (await this.store.query(selectSettled(db.dialect, delivery))).length > 0,
    });
  }

  /** What the saga's own functions throw must not send the delivery round in circles. */
  #decide(delivery: Delivery, run: RunRecord | undefined, end: HandlerEnd): Settlement {
    try {
      return this.orchestrator.handleResult(delivery, run, end);
    } catch (error) {
      const label = errorLabel(error, this.#options.errorCodes);
      return { delivery, to: settled("abandon"), error: label, out: NOTHING_OUT };
    }
  }

  #tell({ to, error, move }: Settlement, { id, name, handler }: Delivery, lease: Lease): void {
    // Whoever waits for the end finds the place free that it had.
    if (move && isAtRest(move.state.status))
      void lease.gone.then(() => this.news.tell(move.run.sagaId, move.state.status));
    if (to === settled("abandon")) {
      const fields = { id, event: name, handler, error };
      this.#options.onAttention(fields, "amends: an event was given up and needs a person");
    }
    if (move?.state.status === "stalled") {
      const { sagaId, sagaType } = move.run;
      const stalled = { id: sagaId, saga: sagaType, step: move.state.undoSteps[0], error };
      this.#options.onAttention(stalled, "amends: a saga over events has stalled and needs a person");
    }
  }

  /**
   * A try of a step that is to come again moves its run as well, to where it stands: if the run has turned back in the
   * meantime, the step is not waited for any longer.
   */
  async #later(delivery: Delivery, run: RunRecord | undefined, again: Again, lease: Lease): Promise<Booked> {
    const { waitMs, error, uncounted } = again;
    const to = settled(uncounted ? "park" : "fail");
    const note = uncounted ? { uncounted } : { error };
    const move = run && { run, state: run.state, stepMs: "rest" as const };
    const { applied } = await this.settle({ delivery, to, waitMs, ...note, move, out: NOTHING_OUT });
    if (applied) this.pool.dueIn(waitMs);
    if (applied) return "done";
    const now = run && (await this.#runOf(delivery));
    return now && now.version !== run.version ? "called" : lost(lease);
  }

  async #abandon(delivery: Delivery, error: string, lease: Lease): Promise<Booked> {
    const settlement = { delivery, to: settled("abandon"), error, out: NOTHING_OUT };
    const { applied } = await this.settle(settlement);
    if (!applied) return lost(lease);
    this.#tell(settlement, delivery, lease);
    return "done";
  }

  async #release(delivery: Delivery): Promise<void> {
    await this.store.settle({ delivery, to: settled("release"), uncounted: true, out: NOTHING_OUT });
  }

  /** Sagas of steps that wait for this event: each is told once, however often this is tried. */
  async #tellSagas(
    handler: AnyHandler,
    delivery: Delivery,
    fields: ReadonlySet<string>,
    lease: Lease,
  ): Promise<Booked> {
    const event = readEvent(handler, delivery);
    if (!event) return this.#abandon(delivery, "UnreadableEvent", lease);
    const { eventId: id, name: type, version, payload, attempts, correlation } = delivery;
    const values = [...fields].flatMap((field) => {
      const value = matchValue((event as unknown as Record<string, unknown>)[field]);
      return value === undefined ? [] : [[field, value] as const];
    });
    try {
      await this.#options.tellSagas({ id, type, version, payload }, values);
    } catch (thrown) {
      const error = errorLabel(thrown, this.#options.errorCodes);
      if (attempts >= handler.retry.attemptMax) return this.#abandon(delivery, error, lease);
      const waitMs = delayMs(handler.retry, attempts);
      return this.#later(delivery, undefined, { end: "again", waitMs, error }, lease);
    }
    const queue = correlation === undefined ? undefined : { handler: handler.name, correlation };
    const { applied } = await this.settle(
      { delivery, to: settled("succeed"), queue, out: NOTHING_OUT },
      lease,
    );
    return applied ? "done" : lost(lease);
  }

  /** An event that was sent where nobody knew its handlers: here they are known. */
  async #route(delivery: Delivery, lease: Lease): Promise<void> {
    const [taker] = this.registry.subscribers(delivery.name);
    const event = taker && readEvent(taker, delivery);
    const { correlation, causation } = delivery;
    try {
      if (!event) return void (await this.#abandon(delivery, "UnreadableEvent", lease));
      const out = fanOut(this.registry, [event], { correlation, causation });
      const { applied } = await this.settle(
        { delivery, to: settled("succeed"), out, trace: delivery.trace },
        lease,
      );
      if (!applied) lost(lease);
    } catch (error) {
      await this.#abandon(delivery, errorLabel(error, this.#options.errorCodes), lease);
    }
  }
}

/** Somebody else has it now: nothing was written, and that is counted. */
function lost(lease: Lease): Booked {
  lease.stop("lost");
  return "done";
}

/** How long a saga of steps is waited for at once. */
const SAGA_WAIT_MS = 5_000;

/** For deliveries that nobody waits for: the orchestrator says so, whatever their handler would have answered. */
const NO_END: HandlerEnd = { end: "exhausted", error: "NotAwaited" };
