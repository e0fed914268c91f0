/** What a person may do to a saga. Every action asks for a reason and becomes a line of the saga's log. */
import { AmendsError, SagaConcurrencyError } from "../../core/errors.ts";
import { encodeJson } from "../../core/json.ts";
import { checkNote, type OperatorNote } from "../../core/operator-note.ts";
import { control, type ControlDetails, type ControlName } from "../../core/saga/entry.ts";
import { pivotBegun, turnEntry } from "../../core/saga/interpreter.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import { failingStep, type SagaState } from "../../core/saga/state.ts";
import { canTurn } from "../../core/saga/undoing.ts";
import type { Engine } from "../engine/engine.ts";
import type { OperatorLine, Journal, SagaRecord } from "../journal/journal.ts";

export type { OperatorNote };

/** An operator's note, and optionally the revision that the operator saw. */
export interface SagaNote extends OperatorNote {
  /**
   * The `revision` of the view that you saw. The action is refused if the saga has changed since. Default: not checked.
   */
  readonly revision?: number;
}

/** The note of a skip, and optionally a result for the skipped step. */
export interface SkipNote extends SagaNote {
  /** For a step after the pivot: the result that later steps see. Default: undefined. */
  readonly result?: unknown;
}

/**
 * What an operator may do to a saga. `retry` runs a stalled saga again, `skip` passes over a step, `resolve` ends it by
 * hand, `cancel` makes it compensate.
 */
export type SagaAction = "retry" | "skip" | "resolve" | "cancel";

export class Operators {
  readonly #journal: Journal;
  readonly #engine: Engine;
  readonly #wake: () => void;

  constructor(journal: Journal, engine: Engine, wake: () => void) {
    this.#journal = journal;
    this.#engine = engine;
    this.#wake = wake;
  }

  /** Undoes a saga that has not passed its pivot. Cancelling one that is being undone already changes nothing. */
  cancel(id: string, note: SagaNote): Promise<SagaRecord> {
    return this.#act(id, note, ({ state }, details) => {
      switch (state.status) {
        case "COMPENSATING":
        case "FAILED":
          return undefined;
        case "COMPLETED":
          throw refuse("CANCEL_REFUSED", "The saga has completed: it can no longer be cancelled.", state);
        default:
      }
      if (state.cancel) return undefined;
      if (pivotBegun(state) || !canTurn(state)) {
        throw refuse(
          "CANCEL_REFUSED",
          "The saga has reached its pivot and can only go forward: it can no longer be cancelled.",
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
      return line("$resolve", { ...details, as });
    });
  }

  async #act(
    id: string,
    note: SagaNote,
    decide: (record: SagaRecord, details: ControlDetails) => OperatorLine | undefined,
  ): Promise<SagaRecord> {
    const details: ControlDetails = checkNote(note, "the saga's log");
    const record = await this.#journal.appendByOperator(id, (found) => {
      if (note.revision !== undefined && note.revision !== found.version)
        throw new SagaConcurrencyError(id, note.revision, found.version);
      return decide(found, details);
    });
    // Whatever it is doing forward has become pointless; an undo under way is just what was asked for.
    const { cancel, status, steps } = record.state;
    const isUndoing = steps.some(({ undo }) => undo === "begun");
    if (cancel && status === "RUNNING" && !isUndoing) this.#engine.interrupt(id);
    this.#engine.sagaEvents.publish(id, { version: record.version, entry: undefined, state: record.state });
    this.#wake();
    return record;
  }
}

/** What a person may do to a saga in this state. */
export function allowedActions(state: SagaState): readonly SagaAction[] {
  if (state.status === "STALLED") {
    const actions: SagaAction[] = ["retry"];
    if (skippable(state).length > 0) actions.push("skip");
    actions.push("resolve");
    if (!state.failure && canTurn(state) && !pivotBegun(state)) actions.push("cancel");
    return actions;
  }
  const failing = failingStep(state);
  if (failing) return failing.isCalled ? [] : ["skip", "resolve"];
  const isOpen = state.status === "PENDING" || state.status === "RUNNING";
  return isOpen && !state.cancel && !pivotBegun(state) ? ["cancel"] : [];
}

/** Going back, the steps whose undo failed; going forward, the one that the saga stands at. */
export function skippable(state: SagaState): readonly string[] {
  const nameAt = (index: number): string => (state.plan[index] as PlannedStep).name;
  const failed = state.steps.flatMap(({ undo }, index) => (undo === "failed" ? [nameAt(index)] : []));
  if (failed.length > 0) return failed;
  const failing = failingStep(state);
  if (failing) return failing.isCalled ? [] : [failing.name];
  if (state.stall?.kind !== "forward-only") return [];
  return state.plan
    .slice(state.plan.findLastIndex((step) => step.pivot) + 1)
    .some(({ name }) => name === state.stall?.step)
    ? [state.stall.step as string]
    : [];
}

function requireStalled(state: SagaState, what: string): void {
  if (state.status === "STALLED") return;
  throw refuse("NOT_ALLOWED_NOW", `Only a stalled saga can be ${what}; this one is ${state.status}.`, state);
}

/** A saga that is stalled, or whose step behind the pivot keeps failing while none of its calls runs. */
function requireHelpless(state: SagaState, what: string): void {
  const failing = failingStep(state);
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
