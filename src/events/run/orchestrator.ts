/**
 * What a handler's result means. For a plain handler: its event goes out. For a handler that is a saga's step, or that
 * undoes one, the orchestrator decides, and it alone says what goes out: the step's event, the commands that undo, and
 * what the saga as a whole has to say. It reads and writes nothing: whoever asks carries out what it answers.
 */
import { decide, expects, type FlowEmission, type FlowEvent } from "../../core/flow/decide.ts";
import type { FlowPlan } from "../../core/flow/state.ts";
import { SUPERSEDED, settled } from "../../core/outbox/machine.ts";
import {
  NOTHING_OUT,
  type Delivery,
  type Fanout,
  type Move,
  type Outcome,
  type RunRecord,
} from "./outcome.ts";
import type { EventValue } from "../define/event.ts";
import { fanOut, type Origin } from "./fanout.ts";
import type { Place, SagaRegistry } from "../define/registry.ts";
import type { AnySagaDef } from "../define/saga-def.ts";
import type { SagaStep } from "../define/saga-step.ts";

/** How a handler ended, once and for all. */
export type HandlerEnd =
  | {
      readonly end: "ok" | "err";
      readonly event: EventValue;
      /** What else it sends out. */
      readonly extras: readonly EventValue[];
    }
  /** It threw once too often, or something that trying again cannot change. */
  | {
      readonly end: "exhausted";
      readonly error: string;
      /** It was never called: there is nothing of it to undo. */
      readonly unbegun?: boolean;
    };

/** What a delivery is to the run that it belongs to. */
export type Role =
  | { readonly kind: "plain" }
  | ({ readonly kind: "act" | "undo" } & Place)
  /** Nobody waits for it any more. */
  | { readonly kind: "past" }
  /** It is a breach of contract that it is here. */
  | { readonly kind: "early" };

const SUCCEEDED = settled("succeed");
const PLAIN: Role = { kind: "plain" };

export class SagaOrchestrator {
  readonly #registry: SagaRegistry;

  constructor(registry: SagaRegistry) {
    this.#registry = registry;
  }

  /** What this delivery is, as its run stands now. */
  role({ handler, sagaId, name }: Delivery, run: RunRecord | undefined): Role {
    const place = this.#registry.mapping.get(handler ?? "");
    if (place) {
      if (run === undefined || run.sagaType !== place.saga.name) return { kind: "early" };
      const due = expects(this.#registry.plan(place.saga), run.state, place.step.name);
      return due === "due" ? { kind: "act", saga: place.saga, step: place.step } : { kind: due };
    }
    const saga = sagaId === undefined || run === undefined ? undefined : this.#registry.saga(run.sagaType);
    if (!saga || !run || !saga.steps.some((step) => step.compensation?.type === name)) return PLAIN;
    const next = saga.step(run.state.undoSteps[0] ?? "");
    const isAwaited =
      run.state.status === "compensating" &&
      run.state.lateStep === undefined &&
      next?.compensation?.type === name;
    return isAwaited ? { kind: "undo", saga, step: next } : { kind: "past" };
  }

  /** Everything that is to be written now that a handler has ended. */
  handleResult(delivery: Delivery, run: RunRecord | undefined, end: HandlerEnd): Outcome {
    const role = this.role(delivery, run);
    switch (role.kind) {
      case "past":
        return { delivery, to: SUPERSEDED, out: NOTHING_OUT };
      case "early":
        return this.#breach(delivery);
      case "plain":
        return this.#plain(delivery, end);
      case "act":
      case "undo":
        return this.#step(delivery, run as RunRecord, role, end);
      default:
        return role satisfies never;
    }
  }

  /** A run's time is up, or a person steers it; undefined where that changes nothing. */
  steer(
    run: RunRecord,
    event: FlowEvent,
    note?: string,
  ): { readonly move: Move; readonly out: Fanout } | undefined {
    const saga = this.#registry.saga(run.sagaType);
    if (!saga) return undefined;
    const verdict = decide(this.#backward(saga, run), run.state, event);
    if (verdict.kind !== "applied") return undefined;
    const move = { run, state: verdict.state, stepMs: undefined, ...(note !== undefined && { note }) };
    return { move, out: this.#emit(saga, run, verdict.emit, undefined, undefined, undefined) };
  }

  /** Events that a handler sends besides its answer, or that are published within no run. */
  #plain(delivery: Delivery, end: HandlerEnd): Outcome {
    if (end.end === "exhausted") {
      return { delivery, to: settled("abandon"), error: end.error, out: NOTHING_OUT };
    }
    const { handler, correlation } = delivery;
    return {
      delivery,
      to: SUCCEEDED,
      waitMs: undefined,
      error: undefined,
      uncounted: undefined,
      move: undefined,
      queue: handler === undefined || correlation === undefined ? undefined : { handler, correlation },
      out: fanOut(this.#registry, [...end.extras, end.event], originOf(delivery)),
    };
  }

  #step(
    delivery: Delivery,
    run: RunRecord,
    { kind, saga, step }: Extract<Role, { saga: unknown }>,
    end: HandlerEnd,
  ): Outcome {
    const event = end.end === "exhausted" ? undefined : end.event;
    if (event && kind === "act") {
      if (end.end === "ok") step.checkSuccess(event);
      else step.checkFailure(event);
    }
    const error = end.end === "exhausted" ? end.error : (event?.type ?? "");
    const isUnbegun = end.end === "exhausted" && end.unbegun === true;
    const result: FlowEvent = { kind, step: step.name, end: isUnbegun ? "err" : end.end, error };
    const isForward = kind === "act" && end.end === "ok" && run.state.status === "running";
    const plan = isForward ? this.#registry.plan(saga) : this.#backward(saga, run);
    const verdict = decide(plan, run.state, result);
    if (verdict.kind === "early") return this.#breach(delivery);
    if (verdict.kind === "ignored") return { delivery, to: SUPERSEDED, out: NOTHING_OUT };
    const { state, emit } = verdict;
    const stepMs = saga.steps[state.currentStep]?.deadlineMs;
    const own = this.#emit(saga, run, emit, event, delivery.eventId, delivery.trace);
    const hasExtras = end.end !== "exhausted" && end.extras.length > 0;
    return {
      delivery,
      // What was not done is not said to have succeeded; and nobody can requeue it past the orchestrator.
      to: end.end === "exhausted" ? SUPERSEDED : SUCCEEDED,
      waitMs: undefined,
      error: end.end === "exhausted" ? end.error : undefined,
      uncounted: undefined,
      move: { run, state, stepMs },
      queue: undefined,
      out: hasExtras ? both(fanOut(this.#registry, end.extras, originOf(delivery)), own) : own,
    };
  }

  /** The plan for going back: a step for which the saga makes no command has nothing to undo. */
  #backward(saga: AnySagaDef, { processId }: RunRecord): FlowPlan {
    const plan = this.#registry.plan(saga);
    if (!saga.makesCommands) return plan;
    const steps = plan.steps.map((planned) => {
      const step = saga.step(planned.name) as SagaStep;
      const isUndone = planned.undo !== "none" && saga.onCompensate(processId, step) !== undefined;
      return isUndone ? planned : ({ name: planned.name, undo: "none" } as const);
    });
    return { steps };
  }

  #emit(
    saga: AnySagaDef,
    run: RunRecord,
    emissions: readonly FlowEmission[],
    result: EventValue | undefined,
    causation: string | undefined,
    trace: string | undefined,
  ): Fanout {
    const events = emissions.flatMap((emission) => this.#eventOf(saga, run, emission, result) ?? []);
    const { sagaId, processId } = run;
    return fanOut(this.#registry, events, {
      correlation: processId,
      causation,
      trace,
      run: { sagaId, saga, processId },
    });
  }

  #eventOf(
    saga: AnySagaDef,
    { processId }: RunRecord,
    emission: FlowEmission,
    result: EventValue | undefined,
  ): EventValue | undefined {
    switch (emission.kind) {
      case "result":
        return result;
      case "command": {
        const step = saga.step(emission.step);
        return step && saga.onCompensate(processId, step);
      }
      case "completed":
        return saga.onCompleted(processId);
      case "failed":
        return saga.onFailed(processId, emission.failure);
      default:
        return emission satisfies never;
    }
  }

  #breach(delivery: Delivery): Outcome {
    return { delivery, to: settled("abandon"), error: "SagaContractViolation", out: NOTHING_OUT };
  }
}

function both(first: Fanout, second: Fanout): Fanout {
  return { rows: [...first.rows, ...second.rows], runs: [...first.runs, ...second.runs] };
}

/** What a delivery's own events belong to. */
export function originOf({ correlation, eventId, trace }: Delivery): Origin {
  return { correlation: correlation ?? eventId, causation: eventId, trace };
}
