/**
 * Processes one delivery: find its run, call the handler if the run waits for it, decide, and write everything in
 * one commit. If the run changes meanwhile, the decision is repeated on its new state; the handler is not called
 * again for that.
 */
import { claimCount } from "../../core/claim-token.ts";
import { errorLabel, labelWithMessage } from "../../core/errors.ts";
import { settled, SUPERSEDED } from "../../core/outbox/machine.ts";
import type { Lease } from "../../runtime/lease.ts";
import { graceInTransaction } from "../../runtime/own-transaction.ts";
import { untraced } from "../../runtime/trace.ts";
import { takesOf } from "../define/several.ts";
import type { Subscriber } from "../define/subscriber.ts";
import { SagaContractViolation } from "../define/violation.ts";
import type { WriteAnswer } from "../store/outcome-writer.ts";
import { SagaStoreFailure } from "../store/saga-store.ts";
import { callHandler, readEvent, retryOrEnd, type Request } from "./call.ts";
import type { Prepared, Role } from "./decider.ts";
import type { EventEngine } from "./engine.ts";
import { spanOf } from "./handler-span.ts";
import { gatherEvents } from "./gather.ts";
import { foreignSaga, foreignStep, handedOver, readAnswered } from "./hand-over.ts";
import { isInTime, resultOfLate } from "./late-handler.ts";
import { leftToNewer, NOTHING_OUT, type Delivery, type Outcome, type RunRecord } from "./outcome.ts";
import { DEADLINE_PASSED, type FinalResult, type HandlerResult, type RetryResult } from "./result.ts";
import { handleInTransaction } from "./transactional.ts";

/** The outcome of a delivery that its run does not wait for: it changes nothing. */
const NOT_CALLED: FinalResult = { kind: "exhausted", error: "NotAwaited" };

export class HandlerTurn {
  readonly #engine: EventEngine;
  readonly #handler: Subscriber;
  readonly #lease: Lease;
  #delivery: Delivery;
  #run: RunRecord | undefined;
  /** No process has called the handler for this delivery. Every claim raises the token, also a released one. */
  #isUnbegun: boolean;

  constructor(engine: EventEngine, handler: Subscriber, delivery: Delivery, lease: Lease) {
    this.#engine = engine;
    this.#handler = handler;
    this.#lease = lease;
    this.#delivery = delivery;
    this.#run = delivery.run;
    this.#isUnbegun = claimCount(delivery.token) <= 1;
  }

  async take(): Promise<void> {
    this.#run ??= await this.#engine.runOf(this.#delivery);
    while (!(await this.#attempt()));
  }

  /** Decides about the result that another process has recorded. */
  async apply(): Promise<void> {
    this.#isUnbegun = false;
    this.#run ??= await this.#engine.runOf(this.#delivery);
    let result: FinalResult;
    try {
      const role = this.#engine.decider.roleOf(this.#delivery, this.#run);
      result = readAnswered(this.#handler, this.#delivery, role, this.#run);
    } catch (thrown) {
      if (!(thrown instanceof SagaContractViolation)) return void (await this.#giveUp("UnreadableEvent"));
      result = { kind: "exhausted", error: SagaContractViolation.name };
    }
    while (!(await this.#conclude(result)));
  }

  /** Undefined if this process decides about the result itself. */
  #handedOver(result: FinalResult): Outcome | undefined {
    const { registry, decider } = this.#engine;
    const delivery = this.#delivery;
    const saga = delivery.answer === undefined ? foreignSaga(registry, delivery, this.#run) : undefined;
    if (saga === undefined) return undefined;
    const extras = result.kind === "exhausted" ? [] : result.extras;
    const out = extras.length === 0 ? NOTHING_OUT : decider.extras(delivery, extras);
    return handedOver(delivery, saga, result, out);
  }

  /** True once the delivery is settled or lost. False if its run has changed and must be read again. */
  #attempt(): Promise<boolean> {
    const run = this.#run;
    const delivery = this.#delivery;
    const { clock, decider, registry } = this.#engine;
    const role = decider.roleOf(delivery, run);
    if (role.kind === "past" || role.kind === "early" || role.kind === "gathered")
      return this.#conclude(NOT_CALLED);
    // Its run compensates. The previous worker of the delivery crashed, so the step is in doubt.
    const isStep = role.kind === "act" || foreignStep(registry, delivery) !== undefined;
    if (isStep && run && run.state.status !== "running")
      return this.#conclude({ kind: "exhausted", error: "LeaseExpired", unbegun: this.#isUnbegun });
    if (role.kind === "act" && run?.dueAtMs !== undefined && run.dueAtMs <= clock.monotonicMs())
      return this.#expire(run, role.step.name);
    if (delivery.attempts > this.#handler.retry.attemptMax)
      return this.#conclude({ kind: "exhausted", error: "TriesUsedUp" });
    if (run && takesOf(this.#handler).length > 1) return this.#gather(run, role);
    const event = readEvent(this.#handler, delivery);
    if (!event) return this.#giveUp("UnreadableEvent");
    return this.#begin(event, role);
  }

  async #gather(run: RunRecord, role: Role): Promise<boolean> {
    const events = await gatherEvents(this.#engine.store, this.#handler, run);
    if (events === "newer") return this.#settle(leftToNewer(this.#delivery));
    return events ? this.#begin(events, role) : this.#giveUp("UnreadableEvent");
  }

  #begin(event: Request["event"], role: Role): Promise<boolean> {
    const run = this.#run;
    const delivery = this.#delivery;
    const { tracer } = this.#engine;
    const request = { handler: this.#handler, event, delivery, run, role, lease: this.#lease };
    if (tracer === untraced) return this.#call(request);
    let failed: string | undefined;
    return tracer.run(
      () => spanOf(this.#handler, delivery),
      (trace) => {
        // Follow-up events are children of the handler's span.
        if (trace !== undefined) this.#delivery = { ...delivery, trace };
        return this.#call({ ...request, delivery: this.#delivery }, (label) => void (failed = label));
      },
      () => failed,
    );
  }

  async #call(request: Request, onFailure?: (label: string) => void): Promise<boolean> {
    if (this.#handler.transaction) return this.#callInTransaction(request, onFailure);
    const called = await callHandler(this.#engine.callTools, request, undefined);
    if (!isInTime(called))
      return this.#finish(await resultOfLate(this.#engine, request, called), request.role, onFailure);
    // The lease is held until the outcome is written: it keeps nothing of the call.
    this.#lease.onStop(undefined);
    return this.#finish(called.result, request.role, onFailure);
  }

  async #callInTransaction(request: Request, onFailure?: (label: string) => void): Promise<boolean> {
    const { db, decider, store, callTools, onRefused } = this.#engine;
    const { delivery, run, role, lease } = request;
    let prepared: Prepared;
    try {
      prepared = await decider.prepare(delivery, run, { kind: "ok" });
    } catch (thrown) {
      return this.#decisionFailed(thrown);
    }
    const tools = { ...callTools, graceMs: graceInTransaction(db, callTools.graceMs) };
    let open: unknown;
    let refused: SagaStoreFailure | undefined;
    const result = await handleInTransaction({
      db,
      signal: lease.signal,
      onRefused,
      call: (tx) => callHandler(tools, request, (open = tx)),
      onLate: (late) => lease.keepOrphan(late),
      write: async (session, ok) => {
        const outcome = this.#handedOver(ok) ?? decider.outcomeOf(delivery, run, prepared, ok);
        const next = this.#engine.continuation(outcome, lease);
        let answer: WriteAnswer | undefined;
        try {
          answer = await store.settleIn(session, outcome, next.claims, open);
        } catch (thrown) {
          next.cancel();
          if (!(thrown instanceof SagaStoreFailure)) throw thrown;
          refused = thrown;
        }
        if (!answer?.isWritten) {
          next.cancel();
          return undefined;
        }
        const accept = (): void => {
          next.accept(answer);
          this.#engine.announce(outcome, delivery, lease);
        };
        return { accept, cancel: () => next.cancel() };
      },
      isSettled: () => store.isSettled(delivery),
    });
    if (result === "settled") return true;
    if (result !== "refused") return this.#finish(result, role, onFailure);
    this.#isUnbegun = false;
    if (refused) return this.#decisionFailed(refused.cause);
    if (!(await store.isHeld(delivery))) return this.#lost();
    this.#run = await this.#engine.runOf(delivery);
    return false;
  }

  async #finish(
    result: HandlerResult | undefined,
    role: Role,
    onFailure?: (label: string) => void,
  ): Promise<boolean> {
    // A stopped call has no outcome: the delivery is released, or another process claimed it.
    if (result === undefined) return true;
    this.#isUnbegun = false;
    if (result.kind === "retry" || result.kind === "exhausted") onFailure?.(result.error);
    if (result.kind === "retry") return this.#retry(result, role);
    // The handler has run and must not run again: only the decision is repeated.
    while (!(await this.#conclude(result)));
    return true;
  }

  #conclude(result: FinalResult): Promise<boolean> {
    try {
      const handedOn = this.#handedOver(result);
      if (handedOn) return this.#settle(handedOn);
      const prepared = this.#engine.decider.prepare(this.#delivery, this.#run, result);
      if (prepared instanceof Promise) return this.#concludeLater(prepared, result);
      return this.#settle(this.#outcomeOf(prepared, result));
    } catch (thrown) {
      return this.#decisionFailed(thrown);
    }
  }

  async #concludeLater(preparing: Promise<Prepared>, result: FinalResult): Promise<boolean> {
    let outcome: Outcome;
    try {
      outcome = this.#outcomeOf(await preparing, result);
    } catch (thrown) {
      return this.#decisionFailed(thrown);
    }
    return this.#settle(outcome);
  }

  #outcomeOf(prepared: Prepared, result: FinalResult): Outcome {
    return this.#engine.decider.outcomeOf(this.#delivery, this.#run, prepared, result);
  }

  /**
   * A function of the saga or its store failed. It is retried like a failure of the handler, and abandoned after the last
   * attempt.
   */
  #decisionFailed(thrown: unknown): Promise<boolean> {
    const label = errorLabel(thrown, this.#engine.callTools.errorCodes);
    const result = retryOrEnd(this.#handler, this.#delivery.attempts, thrown, label);
    const role = this.#engine.decider.roleOf(this.#delivery, this.#run);
    return result.kind === "retry" ? this.#retry(result, role) : this.#giveUp(label);
  }

  /** The deadline of the run passed before the call: the handler is not called. */
  async #expire(run: RunRecord, step: string): Promise<boolean> {
    const before = this.#isUnbegun ? "unbegun" : "doubtful";
    let decided: Awaited<ReturnType<EventEngine["decider"]["steer"]>>;
    try {
      decided = await this.#engine.decider.steer(run, { kind: "deadline", delivery: before, step });
    } catch (thrown) {
      return this.#decisionFailed(thrown);
    }
    const delivery = this.#delivery;
    return this.#settle({ delivery, to: SUPERSEDED, error: DEADLINE_PASSED, out: NOTHING_OUT, ...decided });
  }

  /**
   * A retry of a step also writes its run with an unchanged state. The write fails if the run began to compensate
   * meanwhile and no longer waits for the step.
   */
  async #retry({ waitMs, error, message, uncounted }: RetryResult, role: Role): Promise<boolean> {
    const delivery = this.#delivery;
    const run = role.kind === "act" ? this.#run : undefined;
    const isSettled = await this.#settle({
      delivery,
      to: settled(uncounted ? "park" : "fail"),
      waitMs,
      ...(uncounted ? { uncounted } : { error: labelWithMessage(error, message) }),
      move: run && { run, state: run.state, stepMs: "rest" },
      out: NOTHING_OUT,
    });
    if (isSettled && this.#lease.stopped !== "lost") this.#engine.pool.dueIn(waitMs);
    return isSettled;
  }

  #giveUp(error: string): Promise<boolean> {
    return this.#settle({ delivery: this.#delivery, to: settled("abandon"), error, out: NOTHING_OUT });
  }

  /** True if the outcome is written, or another process claimed the delivery. False if its run has changed. */
  async #settle(outcome: Outcome): Promise<boolean> {
    try {
      const { isWritten } = await this.#engine.settle(outcome, this.#delivery, this.#lease);
      if (isWritten) return true;
    } catch (thrown) {
      if (thrown instanceof SagaStoreFailure) return this.#decisionFailed(thrown.cause);
      throw thrown;
    }
    const run = outcome.move && (await this.#engine.runOf(this.#delivery));
    if (!run || run.version === this.#run?.version) return this.#lost();
    this.#run = run;
    return false;
  }

  /** Another process claimed the delivery: nothing was written here. Count the lost claim. */
  #lost(): true {
    this.#lease.stop("lost");
    return true;
  }
}
