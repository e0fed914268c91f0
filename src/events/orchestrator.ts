/**
 * The orchestrator for a worker and a store of one's own: it applies the result of one handler to the saga that the
 * handler belongs to. The worker of Amends makes the same decisions (run/decider.ts), and writes many of them in one
 * commit.
 */
import { AmendsError, SagaConcurrencyError } from "../core/errors.ts";
import { BEGUN, type FlowState } from "../core/flow/state.ts";
import type { Err, Ok } from "../core/result.ts";
import { newId } from "../runtime/identifiers.ts";
import { systemClock } from "../storage/clock.ts";
import type { EventValue } from "./define/event.ts";
import { readAnswer, type AnyHandler } from "./define/handler.ts";
import type { HandlerSagaMapping, SagaPlace, SagaRegistry } from "./define/registry.ts";
import { takesOf } from "./define/several.ts";
import { SagaContractViolation } from "./define/violation.ts";
import { FlowDecider, inOrder } from "./run/decider.ts";
import type { SagaState, SagaStore, SagaStoreOptions } from "./store/saga-store.ts";

/** Where a `SagaOrchestrator` puts the events that it emits. */
export interface OrchestratorOutbox<Tx = unknown> {
  /** Adds one event through the transaction. Events are appended in their order. */
  append(event: EventValue, options: SagaStoreOptions<Tx>): Promise<unknown>;
}

/** The options of a `SagaOrchestrator`. */
export interface SagaOrchestratorOptions<Tx = unknown> {
  /** Where the states of the sagas are. */
  readonly store: SagaStore<Tx>;
  /** Where the events go. */
  readonly outbox: OrchestratorOutbox<Tx>;
  /** The sagas, and the handlers of their commands. */
  readonly registry: SagaRegistry;
  /** Which handler is which step. Default: the mapping of the registry. */
  readonly mapping?: HandlerSagaMapping;
  /** Runs the work in one transaction, and rolls back if it rejects. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** The number of decisions about one result while others change the same run. */
const ATTEMPTS_MAX = 20;

/** Applies the results of handlers to sagas over events, on a store of one's own. */
export class SagaOrchestrator<Tx = unknown> {
  readonly #options: SagaOrchestratorOptions<Tx>;
  readonly #decider: FlowDecider;

  constructor(options: SagaOrchestratorOptions<Tx>) {
    this.#options = options;
    refuseGathering(options.mapping ?? options.registry.mapping);
    this.#decider = new FlowDecider(options.registry, systemClock);
  }

  /**
   * Checks the result of a step's handler, or of the handler of a compensation command, against the saga, saves the
   * new state and emits the events that follow, in one transaction. The functions of the saga that make events run
   * before the transaction opens. A result that the run no longer waits for changes nothing. Throws a
   * `SagaContractViolation` for a handler without a saga, an event that was not declared, and a step that is not due.
   */
  async handleResult(handler: AnyHandler, result: Ok<EventValue> | Err<EventValue>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#apply(handler, result);
      } catch (thrown) {
        // Another result changed the run first: decide again on its new state.
        if (!(thrown instanceof SagaConcurrencyError) || attempt >= ATTEMPTS_MAX) throw thrown;
      }
    }
  }

  async #apply(handler: AnyHandler, result: Ok<EventValue> | Err<EventValue>): Promise<void> {
    const { store, outbox } = this.#options;
    const { kind, saga, step: declared } = this.#roleOf(handler);
    const answer = readAnswer(handler, result, kind === "act" ? declared : undefined);
    const processId = saga.getProcessId(answer.event);
    const kept = await store.get(saga.name, processId, {});
    const before = kept ?? begun(saga.name, processId);
    // Two steps may have the same command.
    const next = kind === "undo" ? saga.step(before.undoSteps[0] ?? "") : undefined;
    const step = next?.compensation?.type === handler.on.type ? next : declared;
    const decided = await this.#decider.decide(
      saga,
      { processId, state: flowState(before) },
      { kind, step: step.name, end: answer.kind, error: answer.event.type, answer: answer.event.type },
    );
    if (decided === "ignored") return;
    if (decided === "early")
      throw new SagaContractViolation(
        `Saga ${saga.name}: handler ${handler.name} has a result for step ${step.name}, which is not due yet.`,
      );
    const { failure, ...after } = decided.state;
    const state: SagaState = {
      ...before,
      ...after,
      error: failure?.step,
      errorLabel: failure?.error,
      version: before.version + 1,
    };
    await this.#options.transaction(async (tx) => {
      await store.save(state, { tx });
      for (const event of inOrder(decided.events, answer.event)) await outbox.append(event, { tx });
    });
  }

  /** A handler is a step of a saga, or it undoes one. */
  #roleOf(handler: AnyHandler): SagaPlace & { readonly kind: "act" | "undo" } {
    const { registry, mapping = registry.mapping } = this.#options;
    const place = mapping.get(handler.name);
    if (place) return { ...place, kind: "act" };
    for (const { saga, step } of mapping.values())
      if (step.compensation?.type === handler.on.type) return { saga, step, kind: "undo" };
    throw new SagaContractViolation(
      `Handler ${handler.name} belongs to no saga: emit the event that it returned.`,
    );
  }
}

/** Your worker calls a handler with one event: it does not know the others, which the outbox of Amends keeps. */
function refuseGathering(mapping: HandlerSagaMapping): void {
  for (const { saga, step } of mapping.values()) {
    if (takesOf(step.handler).length < 2) continue;
    throw new AmendsError(
      "NOT_SUPPORTED",
      `Saga ${saga.name}: step ${step.name} waits for several events. Only the worker of Amends gathers them: a SagaOrchestrator runs sagas whose steps take one event each.`,
    );
  }
}

function begun(sagaType: string, processId: string): SagaState {
  const { status, currentStep, completedSteps, answers, undoSteps, lateSteps } = BEGUN;
  return {
    sagaId: newId(),
    sagaType,
    processId,
    status,
    currentStep,
    completedSteps,
    answers,
    startedAt: new Date(),
    error: undefined,
    errorLabel: undefined,
    undoSteps,
    lateSteps,
    version: 0,
  };
}

function flowState(state: SagaState): FlowState {
  const { status, currentStep, completedSteps, answers, undoSteps, lateSteps, error, errorLabel } = state;
  const failure = error === undefined ? undefined : { step: error, error: errorLabel ?? "" };
  return { status, currentStep, completedSteps, answers, undoSteps, lateSteps, failure };
}
