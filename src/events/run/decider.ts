/**
 * Decides the effects of a handler's result. The event of a handler outside of sagas is published. For a handler of
 * a step or of a compensation, the saga decides what is published: the step's event, the compensation commands, and
 * the final event of the saga. This file does no I/O, but the saga's functions that make events may be slow, so a
 * decision is made before the transaction that writes it begins (K-10).
 */
import { labelWithMessage } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import { decide, expects, type FlowEmission, type FlowEvent } from "../../core/flow/decide.ts";
import { progressOf } from "../../core/flow/path.ts";
import type { FlowPlan, FlowState } from "../../core/flow/state.ts";
import { settled, SUPERSEDED } from "../../core/outbox/machine.ts";
import { inTime, type Clock } from "../../storage/clock.ts";
import { givesOf, takesOf } from "../define/several.ts";
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
  /** Its event is one of several that the step waits for: with the last of them the handler is called. */
  | { readonly kind: "gathered" }
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
  /** By answer, if the step may give one of several and the handler was not called yet. */
  readonly byAnswer?: ReadonlyMap<string, Decision>;
}

const SUCCEEDED = settled("succeed");
const ABANDONED = settled("abandon");
const PLAIN: Role = { kind: "plain" };
const GATHERED: Role = { kind: "gathered" };

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
      const plan = this.#registry.plan(place.saga);
      const takes = takesOf(place.step.handler);
      if (takes.length > 1) {
        const given = progressOf(plan, run.state)?.given ?? [];
        if (!given.includes(name)) return { kind: "early" };
        // The saga sent its own event: this one, from outside, is a second one.
        if (sagaId === undefined) return { kind: "past" };
        if (given.findLast((event) => takes.some(({ type }) => type === event)) !== name) return GATHERED;
        if (!takes.every(({ type }) => given.includes(type))) return GATHERED;
      }
      const due = expects(plan, run.state, place.step.name);
      return due === "due" ? { kind: "act", saga: place.saga, step: place.step } : { kind: due };
    }
    const saga = sagaId === undefined || run === undefined ? undefined : this.#registry.saga(run.sagaType);
    if (!saga || !run || !saga.steps.some((step) => step.compensation?.type === name)) return PLAIN;
    const next = saga.step(run.state.undoSteps[0] ?? "");
    const isAwaited =
      run.state.status === "compensating" &&
      run.state.lateSteps.length === 0 &&
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
    result: Pick<FinalResult, "kind"> & {
      readonly error?: string;
      readonly unbegun?: boolean;
      readonly event?: EventValue | undefined;
    },
  ): Prepared | Promise<Prepared> {
    const role = this.roleOf(delivery, run);
    if (!run || (role.kind !== "act" && role.kind !== "undo")) return { role, decided: undefined };
    const { kind, saga, step } = role;
    const end = result.unbegun ? "err" : result.kind;
    const error = result.error ?? (end === "err" ? step.failure.type : "");
    const event = { kind, step: step.name, end, error };
    const answer = sealOf(result.event)?.type;
    if (kind === "act" && end === "ok" && answer === undefined && givesOf(step.handler).length > 1)
      return this.#prepareAll(role, run, event);
    const decided = this.decide(saga, run, { ...event, answer });
    return decided instanceof Promise ? decided.then((one) => ({ role, decided: one })) : { role, decided };
  }

  /** For a handler in a transaction, which opens after the decision: one for each answer that it may give. */
  async #prepareAll(
    role: Extract<Role, SagaPlace>,
    run: RunRecord,
    event: Extract<FlowEvent, { readonly kind: "act" | "undo" }>,
  ): Promise<Prepared> {
    const byAnswer = new Map<string, Decision>();
    for (const { type: answer } of givesOf(role.step.handler))
      byAnswer.set(answer, await this.decide(role.saga, run, { ...event, answer }));
    return { role, decided: undefined, byAnswer };
  }

  /**
   * Everything that is written for this result. The outcomes of a success name every property, so that they have one shape:
   * the writer reads thousands of them.
   */
  outcomeOf(
    delivery: Delivery,
    run: RunRecord | undefined,
    { role, decided: only, byAnswer }: Prepared,
    result: FinalResult,
  ): Outcome {
    const given = result.kind === "exhausted" ? undefined : sealOf(result.event)?.type;
    const decided = given === undefined ? only : (byAnswer?.get(given) ?? only);
    if (role.kind === "gathered") return gathered(delivery);
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
      move: { run, state: decided.state, stepMs: this.#stepMs(saga, decided.state) },
      queue: takesOf(role.step.handler).length > 1 ? laneOf(delivery) : undefined,
      out: extras === NOTHING_OUT ? own : both(extras, own),
    };
  }

  /** The deadline of the step that the run waits for. A step that may run beside another one has none. */
  #stepMs(saga: AnySagaDef, state: FlowState): number | undefined {
    if (state.status !== "running") return undefined;
    const due = progressOf(this.#registry.plan(saga), state)?.due ?? [];
    return due.length === 1 ? saga.step(due[0] as string)?.deadlineMs : undefined;
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
    return {
      delivery,
      to: SUCCEEDED,
      waitMs: undefined,
      error: undefined,
      uncounted: undefined,
      move: undefined,
      queue: laneOf(delivery),
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

/** Its event is recorded. Those of the same process that wait behind it may be claimed now. */
function gathered(delivery: Delivery): Outcome {
  return { delivery, to: SUCCEEDED, queue: laneOf(delivery), out: NOTHING_OUT };
}

function laneOf({ handler, correlation }: Delivery): Outcome["queue"] {
  return handler === undefined || correlation === undefined ? undefined : { handler, correlation };
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
    ...plan,
    steps: plan.steps.map((step) => (isNothing(step.name) ? { ...step, undo: "none" as const } : step)),
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
