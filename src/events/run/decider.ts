/**
 * Decides the effects of a handler's result. The event of a handler outside of sagas is published. For a handler of
 * a step or of a compensation, the saga decides what is published: the step's event, the compensation commands, and
 * the final event of the saga. This file does no I/O, but the saga's functions that make events may be slow, so a
 * decision is made before the transaction that writes it begins (K-10).
 */
import { labelWithMessage } from "../../core/errors.ts";
import { decide, expects, type FlowEmission, type FlowEvent } from "../../core/flow/decide.ts";
import type { FlowPlan, FlowState } from "../../core/flow/state.ts";
import { settled, SUPERSEDED } from "../../core/outbox/machine.ts";
import { inTime, type Clock } from "../../storage/clock.ts";
import { withLaterId, type EventValue } from "../define/event.ts";
import type { SagaPlace, SagaRegistry } from "../define/registry.ts";
import type { AnySagaDef } from "../define/saga-def.ts";
import { SagaContractViolation } from "../define/violation.ts";
import { fanOut, type Origin } from "./fanout.ts";
import {
  NOTHING_OUT,
  type Delivery,
  type Fanout,
  type Move,
  type Outcome,
  type RunRecord,
} from "./outcome.ts";
import type { FinalResult } from "./result.ts";

/** The role of a delivery in its run. */
export type Role =
  | { readonly kind: "plain" }
  | ({ readonly kind: "act" | "undo" } & SagaPlace)
  /** The run no longer waits for it. */
  | { readonly kind: "past" }
  /** The delivery violates the saga's contract. */
  | { readonly kind: "early" };

/** The next state of a run and the events to send. `undefined` stands for the event that the handler returned. */
export interface Decided {
  readonly state: FlowState;
  readonly events: readonly (EventValue | undefined)[];
}

type Decision = Decided | "ignored" | "early";

/** A decision about one delivery for one kind of result. With the result it becomes an outcome. */
export interface Prepared {
  readonly role: Role;
  readonly decided: Decision | undefined;
}

const SUCCEEDED = settled("succeed");
const ABANDONED = settled("abandon");
const PLAIN: Role = { kind: "plain" };

/** The timeout of a saga's function that makes an event. */
const MAKE_MS = 30_000;

/** A saga's function did not make its event in time. The class name is the stored label. */
class TimedOut extends Error {}

export class FlowDecider {
  readonly #registry: SagaRegistry;
  readonly #clock: Clock;

  constructor(registry: SagaRegistry, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
  }

  /** The role of this delivery in the current state of its run. */
  roleOf({ handler, sagaId, name }: Delivery, run: RunRecord | undefined): Role {
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

  /**
   * Decides the effects of a result of this kind. It is a promise if a function of the saga makes an event, and rejects if
   * that function throws.
   */
  prepare(
    delivery: Delivery,
    run: RunRecord | undefined,
    result: Pick<FinalResult, "kind"> & { readonly error?: string; readonly unbegun?: boolean },
  ): Prepared | Promise<Prepared> {
    const role = this.roleOf(delivery, run);
    if (!run || (role.kind !== "act" && role.kind !== "undo")) return { role, decided: undefined };
    const { kind, saga, step } = role;
    const end = result.unbegun ? "err" : result.kind;
    const error = result.error ?? (end === "err" ? step.failure.type : "");
    const decided = this.decide(saga, run, { kind, step: step.name, end, error });
    return decided instanceof Promise ? decided.then((one) => ({ role, decided: one })) : { role, decided };
  }

  /**
   * Everything that is written for this result. The outcomes of a success name every property, so that they have one shape:
   * the writer reads thousands of them.
   */
  outcomeOf(
    delivery: Delivery,
    run: RunRecord | undefined,
    { role, decided }: Prepared,
    result: FinalResult,
  ): Outcome {
    if (role.kind === "plain") return this.#plainOutcome(delivery, result);
    if (decided === "early" || role.kind === "early")
      return { delivery, to: ABANDONED, error: SagaContractViolation.name, out: NOTHING_OUT };
    if (!run || decided === undefined || decided === "ignored" || role.kind === "past")
      return { delivery, to: SUPERSEDED, out: NOTHING_OUT };
    const { saga } = role;
    const isExhausted = result.kind === "exhausted";
    const events = isExhausted
      ? decided.events.flatMap((one) => one ?? [])
      : inOrder(decided.events, result.event);
    const own = this.#fanOut(saga, run, events, delivery);
    const extras =
      isExhausted || result.extras.length === 0 ? NOTHING_OUT : this.extras(delivery, result.extras);
    return {
      delivery,
      // A skipped step has not succeeded; and a superseded delivery cannot be requeued after its run moved on.
      to: isExhausted ? SUPERSEDED : SUCCEEDED,
      waitMs: undefined,
      error: isExhausted ? labelWithMessage(result.error, result.message) : undefined,
      uncounted: undefined,
      move: { run, state: decided.state, stepMs: saga.steps[decided.state.currentStep]?.deadlineMs },
      queue: undefined,
      out: extras === NOTHING_OUT ? own : both(extras, own),
    };
  }

  /** A deadline passed or an operator acts on the run. Undefined if that changes nothing. */
  async steer(
    run: RunRecord,
    event: FlowEvent,
    note?: string,
  ): Promise<{ readonly move: Move; readonly out: Fanout } | undefined> {
    const saga = this.#registry.saga(run.sagaType);
    const decided = saga && (await this.decide(saga, run, event));
    if (!saga || typeof decided !== "object") return undefined;
    const events = decided.events.flatMap((one) => one ?? []);
    return {
      move: { run, state: decided.state, stepMs: undefined, note },
      out: this.#fanOut(saga, run, events, undefined),
    };
  }

  /** It is a promise if a function of the saga makes an event, and rejects if that function throws. */
  decide(
    saga: AnySagaDef,
    run: Pick<RunRecord, "processId" | "state">,
    event: FlowEvent,
  ): Decision | Promise<Decision> {
    const decision = decide(this.#registry.plan(saga), run.state, event);
    if (decision.kind !== "applied") return decision.kind;
    if (!decision.emit.every(isResult)) return this.#decideWithEvents(saga, run, event);
    return { state: decision.state, events: decision.emit.map(() => undefined) };
  }

  async #decideWithEvents(
    saga: AnySagaDef,
    { processId, state }: Pick<RunRecord, "processId" | "state">,
    event: FlowEvent,
  ): Promise<Decision> {
    const commands = new Map<string, EventValue | undefined>();
    for (;;) {
      const decision = decide(withCommands(this.#registry.plan(saga), commands), state, event);
      if (decision.kind !== "applied") return decision.kind;
      const isNew = (one: FlowEmission): one is Command => one.kind === "command" && !commands.has(one.step);
      const made = await this.#commands(saga, processId, decision.emit.filter(isNew));
      for (const [step, command] of made) commands.set(step, command);
      // A step without a command has nothing to undo: decide again without it.
      if (made.some(([, command]) => command === undefined)) continue;
      const events: (EventValue | undefined)[] = [];
      for (const emission of decision.emit) {
        const command = emission.kind === "command" ? commands.get(emission.step) : undefined;
        if (command) events.push(command);
        if (emission.kind === "result") events.push(undefined);
        if (emission.kind === "completed") events.push(await this.#made(saga.onCompleted(processId)));
        if (emission.kind === "failed")
          events.push(await this.#made(saga.onFailed(processId, emission.failure)));
      }
      return { state: decision.state, events };
    }
  }

  async #commands(
    saga: AnySagaDef,
    processId: string,
    emissions: readonly Command[],
  ): Promise<readonly (readonly [step: string, command: EventValue | undefined])[]> {
    const made: (readonly [string, EventValue | undefined])[] = [];
    for (const { step: name } of emissions) {
      const step = saga.step(name);
      made.push([name, step && (await this.#made(saga.onCompensate(processId, step)))]);
    }
    return made;
  }

  /** An event that a saga's own function makes. */
  #made<Event>(making: Promise<Event>): Promise<Event> {
    return inTime(this.#clock, MAKE_MS, making, () => new TimedOut());
  }

  #plainOutcome(delivery: Delivery, result: FinalResult): Outcome {
    if (result.kind === "exhausted")
      return {
        delivery,
        to: ABANDONED,
        error: labelWithMessage(result.error, result.message),
        out: NOTHING_OUT,
      };
    const { handler, correlation } = delivery;
    return {
      delivery,
      to: SUCCEEDED,
      waitMs: undefined,
      error: undefined,
      uncounted: undefined,
      move: undefined,
      queue: handler === undefined || correlation === undefined ? undefined : { handler, correlation },
      out: this.extras(delivery, result.event ? [...result.extras, result.event] : result.extras),
    };
  }

  /** Events that a handler sends outside a run. */
  extras({ correlation, eventId, trace }: Delivery, events: readonly EventValue[]): Fanout {
    const origin: Origin = { correlation: correlation ?? eventId, causation: eventId, trace };
    return fanOut(this.#registry, events, origin);
  }

  #fanOut(
    saga: AnySagaDef,
    { sagaId, processId }: RunRecord,
    events: readonly EventValue[],
    delivery: Delivery | undefined,
  ): Fanout {
    return fanOut(this.#registry, events, {
      correlation: processId,
      causation: delivery?.eventId,
      trace: delivery?.trace,
      run: { sagaId, saga, processId },
    });
  }
}

function isResult({ kind }: FlowEmission): boolean {
  return kind === "result";
}

type Command = Extract<FlowEmission, { readonly kind: "command" }>;

/** The plan without the steps for which the saga made no command. */
function withCommands(plan: FlowPlan, commands: ReadonlyMap<string, EventValue | undefined>): FlowPlan {
  if (commands.size === 0) return plan;
  const isNothing = (name: string): boolean => commands.has(name) && commands.get(name) === undefined;
  return {
    steps: plan.steps.map((step) => (isNothing(step.name) ? { name: step.name, undo: "none" } : step)),
  };
}

/** Ids sort by the order of publication: an event that is sent after the answer gets a later id. */
export function inOrder(
  events: readonly (EventValue | undefined)[],
  answer: EventValue | undefined,
): readonly EventValue[] {
  if (answer === undefined) return events.filter((event) => event !== undefined);
  return events.map((event) =>
    event === undefined ? answer : event.id < answer.id ? withLaterId(event) : event,
  );
}

function both(first: Fanout, second: Fanout): Fanout {
  return { rows: [...first.rows, ...second.rows], runs: [...first.runs, ...second.runs] };
}
