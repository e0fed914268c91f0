/** What a person may do to a saga. Every action asks for a reason and becomes a line of the saga's log. */
import { AmendsError, SagaConcurrencyError } from "../../core/errors.ts";
import { encodeJson } from "../../core/json.ts";
import { checkNote, type OperatorNote } from "../../core/operator-note.ts";
import { control, type ControlDetails, type ControlName } from "../../core/saga/entry.ts";
import { pivotBegun, turnEntry } from "../../core/saga/interpreter.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import { failingStep, indexOf, isActing, nameAt, type Pause, type SagaState } from "../../core/saga/state.ts";
import { canTurn } from "../../core/saga/undoing.ts";
import type { Ends } from "../engine/ends.ts";
import type { SagaEvents } from "../engine/saga-events.ts";
import type { OperatorLine, Journal, SagaRecord } from "../journal/journal.ts";
import { checkReversible, newReversal } from "../engine/reversal.ts";
import type { PausedSaga } from "../read/paused.ts";
import type { Session } from "../../storage/database.ts";
import { failedUndos } from "./outcome.ts";

export type { OperatorNote };

/** An operator's note, and optionally the revision that the operator saw. */
export interface SagaNote extends OperatorNote {
  /**
   * The `revision` of the view that you saw. The action is refused if the saga has changed since. Default: not checked.
   */
  readonly revision?: number;
}

/** The note of a cancellation, and optionally what a person knows of the pivot. */
export interface CancelNote extends SagaNote {
  /**
   * For a saga that is stalled because it is unknown whether its pivot happened: you have made sure that it did not. The saga then
   * compensates. Default: false.
   */
  readonly pivotDidNotHappen?: boolean;
}

/** The note of a skip, and optionally a result for the skipped step. */
export interface SkipNote extends SagaNote {
  /** For a step after the pivot: the result that later steps see. Default: undefined. */
  readonly result?: unknown;
}

/**
 * What an operator may do to a saga. `retry` runs a stalled saga again, `skip` passes over a step, `resolve` ends it by
 * hand, `cancel` makes it compensate, `reverse` takes back one that has completed.
 */
export type SagaAction = OpenAction | "reverse";

/** What an operator may do to a saga that has not ended. */
export type OpenAction = "retry" | "skip" | "resolve" | "cancel";

/** The bulk action of which an action on one saga is an item. */
export interface BulkItem {
  /** The id of the bulk action. It goes into the saga's log. */
  readonly bulk: string;
  /** Puts the item on record, in the transaction that writes the line. */
  readonly record: (session: Session) => Promise<void>;
}

/** Where sagas run: it hears of what operators did. */
export interface OperatedEngine {
  /** The calls of the saga under way have become pointless. */
  interrupt(id: string): void;
  /** The saga has a line that leaves its calls alone. */
  noteChange(id: string): void;
  dueIn(ms: number): void;
  readonly ends: Pick<Ends, "tell">;
  readonly sagaEvents: Pick<SagaEvents, "publish">;
}

export class Operators {
  readonly #journal: Pick<Journal, "appendByOperator" | "family">;
  readonly #engine: OperatedEngine;
  readonly #wake: () => void;
  readonly #item: BulkItem | undefined;

  constructor(
    journal: Pick<Journal, "appendByOperator" | "family">,
    engine: OperatedEngine,
    wake: () => void,
    item?: BulkItem,
  ) {
    this.#journal = journal;
    this.#engine = engine;
    this.#wake = wake;
    this.#item = item;
  }

  /** Undoes a saga that has not passed its pivot. Cancelling one that is being undone already changes nothing. */
  cancel(id: string, note: CancelNote): Promise<SagaRecord> {
    return this.#act(id, note, ({ state }, details) => {
      if (state.isReversal)
        throw refuse("CANCEL_REFUSED", "The saga takes back another one: it cannot be cancelled.", state);
      switch (state.status) {
        case "COMPENSATING":
        case "FAILED":
          return undefined;
        case "COMPLETED":
          throw refuse("CANCEL_REFUSED", "The saga has completed: it can no longer be cancelled.", state);
        default:
      }
      if (state.cancel) return undefined;
      if (note.pivotDidNotHappen === true && isPivotInDoubt(state))
        return line("$turn", {
          ...details,
          kind: "cancelled",
          step: state.stall?.step,
          pivotDidNotHappen: true,
        });
      if (pivotBegun(state) || !canTurn(state)) {
        throw refuse(
          "CANCEL_REFUSED",
          isPivotInDoubt(state)
            ? "It is unknown whether the pivot happened. If you have made sure that it did not, cancel with `pivotDidNotHappen`; else retry or resolve the saga."
            : "The saga has reached its pivot and can only go forward: it can no longer be cancelled.",
          state,
        );
      }
      if (state.status === "STALLED") {
        if (state.failure)
          throw refuse(
            "NOT_ALLOWED_NOW",
            "The saga is stalled while it was being undone. Retry, skip or resolve it.",
            state,
          );
        return { entry: turnEntry({ ...state, cancel: details }, "cancelled") };
      }
      return line("$cancel", details);
    });
  }

  /** Lets a stalled saga go on from where it stands, with new tries. */
  retry(id: string, note: SagaNote): Promise<SagaRecord> {
    return this.#act(id, note, ({ state }, details) => {
      requireStalled(state, "retried");
      return line("$retry", details);
    });
  }

  /** A person has done by hand what the stalled step could not do: the saga goes on without it. */
  async skip(id: string, step: string, note: SkipNote): Promise<SagaRecord> {
    const text = encodeJson(note?.result, { field: "The result of a skipped step", allowNul: true });
    const given = text === null ? {} : { result: JSON.parse(text) as unknown };
    return this.#act(id, note, ({ state }, details) => {
      requireHelpless(state, "skipped");
      if (!skippable(state).includes(step)) {
        const can = skippable(state).join(", ") || "none";
        throw refuse("NOT_ALLOWED_NOW", `Step ${step} cannot be skipped now. Steps that can: ${can}.`, state);
      }
      return line("$skip", { ...details, ...given, step });
    });
  }

  /** Ends a stalled saga: a person answers for its effects. */
  resolve(id: string, as: "COMPLETED" | "FAILED", note: SagaNote): Promise<SagaRecord> {
    if (as !== "COMPLETED" && as !== "FAILED") {
      throw new AmendsError("BAD_OPTION", "A saga is resolved as COMPLETED or as FAILED.");
    }
    return this.#act(id, note, ({ state }, details) => {
      requireHelpless(state, "resolved");
      if (failingStep(state) && isActing(state))
        throw refuse(
          "NOT_ALLOWED_NOW",
          "Another step or item of the saga is being called now. The saga can be resolved once that call has ended.",
          state,
        );
      if (state.isReversal && as === "FAILED")
        throw refuse(
          "NOT_ALLOWED_NOW",
          "The saga takes back another one: a person resolves it as COMPLETED, when everything is taken back.",
          state,
        );
      return line("$resolve", { ...details, as });
    });
  }

  /** Takes back a saga that has completed, by a saga of its own. Asked again, it is the same one. */
  async reverse(id: string, note: OperatorNote): Promise<SagaRecord> {
    const { family } = this.#journal;
    if (!family)
      throw new AmendsError(
        "NOT_SUPPORTED",
        "A custom `storage` cannot link sagas: nothing can be taken back.",
      );
    const details = checkNote(note, "the log of the saga that takes it back");
    const reversal = await family.reverse(newReversal(id, details, undefined), checkReversible);
    if (!reversal)
      throw new AmendsError(
        "SAGA_NOT_FOUND",
        "There is no saga with this id, or retention has removed it with its log: it cannot be taken back.",
        { id },
      );
    this.#engine.dueIn(0);
    this.#wake();
    return reversal;
  }

  /** Holds a saga that has not ended. One that is paused stays so, with its first reason. */
  async pause(id: string, note: OperatorNote): Promise<PausedSaga> {
    const { state, name, nowMs } = await this.#act(id, note, ({ state: { status, paused } }, details) => {
      if (sagaMachine.isTerminal(status))
        throw new AmendsError("NOT_ALLOWED_NOW", `The saga has ended (${status}): it cannot be paused.`, {
          status,
        });
      return paused ? undefined : { ...line("$pause", details), keepsGate: true };
    });
    const { reason = "", by, atMs = nowMs } = state.paused as Pause;
    this.#engine.noteChange(id);
    return { id, name, reason, by, sinceMs: atMs };
  }

  /** Lets a paused saga go on from where it stands. False if it was not paused. */
  async resume(id: string, note: OperatorNote): Promise<boolean> {
    let isResumed = false;
    await this.#act(id, note, ({ state: { paused, status } }, details) => {
      if (!paused || sagaMachine.isTerminal(status)) return undefined;
      isResumed = true;
      return { ...line("$resume", details), keepsGate: true };
    });
    this.#engine.noteChange(id);
    this.#engine.dueIn(0);
    return isResumed;
  }

  async #act(
    id: string,
    note: SagaNote,
    decide: (record: SagaRecord, details: ControlDetails) => OperatorLine | undefined,
  ): Promise<SagaRecord> {
    const item = this.#item;
    const details: ControlDetails = {
      ...checkNote(note, "the saga's log"),
      ...(item && { bulk: item.bulk }),
    };
    const decideOn = (found: SagaRecord): OperatorLine | undefined => {
      if (note.revision !== undefined && note.revision !== found.version)
        throw new SagaConcurrencyError(id, note.revision, found.version);
      return decide(found, details);
    };
    const record = await this.#journal.appendByOperator(id, decideOn, item?.record);
    // Whatever it is doing forward has become pointless; an undo under way is just what was asked for.
    const { cancel, status, steps, paused } = record.state;
    const isUndoing = steps.some(({ undo }) => undo === "begun");
    if (cancel && !paused && status === "RUNNING" && !isUndoing) this.#engine.interrupt(id);
    if (sagaMachine.isTerminal(status))
      this.#engine.ends.tell({ id, name: record.name, version: record.definition, state: record.state });
    this.#engine.sagaEvents.publish(id, { version: record.version, entry: undefined, state: record.state });
    this.#wake();
    return record;
  }
}

/** What a person may do to a saga in this state. */
export function allowedActions(state: SagaState): readonly SagaAction[] {
  if (state.status === "COMPLETED") return state.pivot < 0 && !state.isReversal ? ["reverse"] : [];
  return openActions(state);
}

/** The same of a saga that has not ended. */
export function openActions(state: SagaState): readonly OpenAction[] {
  if (state.status === "STALLED") {
    const actions: OpenAction[] = ["retry"];
    if (skippable(state).length > 0) actions.push("skip");
    actions.push("resolve");
    const isBefore = !state.failure && canTurn(state) && !pivotBegun(state);
    if (isBefore || isPivotInDoubt(state)) actions.push("cancel");
    return actions;
  }
  const failing = failingStep(state);
  if (failing && isActing(state)) return failing.isCalled ? [] : ["skip"];
  if (failing) return failing.isCalled ? [] : ["skip", "resolve"];
  if (waitBehindPivot(state) !== undefined) return ["skip", "resolve"];
  if (state.isReversal) return [];
  const isOpen = state.status === "PENDING" || state.status === "RUNNING";
  return isOpen && !state.cancel && !pivotBegun(state) ? ["cancel"] : [];
}

/** Going back, the steps whose undo failed; going forward, the one that the saga stands at. */
export function skippable(state: SagaState): readonly string[] {
  const failed = failedUndos(state).map(({ index, item }) => nameAt(state, index, item));
  if (failed.length > 0) return failed;
  const failing = failingStep(state);
  if (failing) return failing.isCalled ? [] : [failing.name];
  const waiting = waitBehindPivot(state);
  if (waiting !== undefined) return [waiting];
  if (state.stall?.kind !== "forward-only") return [];
  const { step = "" } = state.stall;
  return indexOf(state, step) > state.plan.findLastIndex(({ pivot }) => pivot) ? [step] : [];
}

/** The step behind the pivot at which the saga waits: only its own time limit would end the wait. */
function waitBehindPivot({ status, pivot, plan, steps }: SagaState): string | undefined {
  if (status !== "RUNNING" || pivot < 0) return undefined;
  const index = steps.findIndex(({ act }, at) => at > pivot && act === "waiting");
  const { name, child } = plan[index] ?? {};
  return child === undefined ? name : undefined;
}

/** The saga is stalled because it is unknown whether its pivot happened. */
function isPivotInDoubt({ stall, plan, pivot }: SagaState): boolean {
  const isPivot = stall?.step === plan[pivot]?.name || stall?.step === plan[pivot]?.fallback;
  return stall?.kind === "forward-only" && stall.step !== undefined && isPivot;
}

function requireStalled(state: SagaState, what: string): void {
  if (state.status === "STALLED") return;
  throw refuse("NOT_ALLOWED_NOW", `Only a stalled saga can be ${what}; this one is ${state.status}.`, state);
}

/** A saga that is stalled, or that waits behind its pivot, or whose step there keeps failing while none of its calls runs. */
function requireHelpless(state: SagaState, what: string): void {
  const failing = failingStep(state);
  if (!failing && waitBehindPivot(state) !== undefined) return;
  if (!failing) return requireStalled(state, what);
  if (failing.isCalled)
    throw refuse(
      "NOT_ALLOWED_NOW",
      `Step ${failing.name} is being called now, and may still succeed. The saga can be ${what} once the call has failed again.`,
      state,
    );
}

function refuse(
  code: "CANCEL_REFUSED" | "NOT_ALLOWED_NOW",
  message: string,
  { status }: SagaState,
): AmendsError {
  return new AmendsError(code, message, { status });
}

function line(name: ControlName, details: ControlDetails): OperatorLine {
  return { entry: control(name, details) };
}
