/**
 * Starts the children of sagas, and takes them back. A step has one child: it is found again by its parent and its step, whatever
 * became of the process that started it. Everything here may be repeated.
 */
import { createHash } from "node:crypto";
import { AmendsError } from "../../core/errors.ts";
import { checkId, SAGA_ID_MAX } from "../../core/identity.ts";
import { control } from "../../core/saga/entry.ts";
import { partName } from "../../core/saga/part-name.ts";
import type { Awaited } from "../../core/saga/steps/child.ts";
import type { StepState } from "../../core/saga/state.ts";
import { pivotBegun, turnEntry } from "../../core/saga/interpreter.ts";
import type { ChildDefinition } from "../define/steps/child.ts";
import type { Family, Journal, Parent, SagaRecord } from "../journal/journal.ts";
import type { Engine } from "./engine.ts";
import { checkReversible, newReversal } from "./reversal.ts";

/** Why a child is cancelled or taken back. */
const REASON = "The saga that started it turns back.";

export class Children {
  readonly #journal: Journal;
  readonly #family: Family;
  readonly #engine: Engine;

  constructor(journal: Journal, family: Family, engine: Engine) {
    this.#journal = journal;
    this.#family = family;
    this.#engine = engine;
  }

  /** Starts the child of a step, or finds it. Returns the child. */
  async start(parent: Parent, child: ChildDefinition, context: object): Promise<Awaited> {
    const known = await this.#family.childOf(parent);
    if (known) return { saga: known.id };
    const id = child.id ? checkId(child.id(context), "The id of a child saga") : childId(parent);
    const started = await this.#engine.starts.start(
      child.saga,
      await child.input(context),
      { id },
      undefined,
      parent,
    );
    return { saga: started.id };
  }

  /**
   * Cancels the child of a step if it is open, and takes it back if it has completed. Returns the saga whose end is to be waited
   * for; undefined if nothing is left of the child. `waiting` is the saga that waits: the parent, or the one that takes it back.
   */
  async undo(
    parent: Parent,
    child: ChildDefinition,
    step: StepState,
    context: object,
    waiting: string,
  ): Promise<Awaited | undefined> {
    const known = await this.#family.childOf(parent);
    if (!known) return this.#forestall(parent, child, step, context);
    switch (known.state.status) {
      case "FAILED":
        return undefined;
      case "COMPLETED":
        return this.#takeBack({ id: waiting, step: `${parent.step}~` }, known);
      default:
        return this.#cancel(known);
    }
  }

  /**
   * There is no child, but a start of it may be under way in a process that was cut off: a child that was cancelled before it began
   * takes the place, so that the start finds it.
   */
  async #forestall(
    parent: Parent,
    child: ChildDefinition,
    { act, acts, actFailures, awaited }: StepState,
    context: object,
  ): Promise<Awaited | undefined> {
    if (awaited) throw gone(awaited.saga);
    // A start that failed for good has made no child; one before it that was cut off may still make one.
    const wasCutOff = acts > actFailures + 1;
    if (act === "broken" && !wasCutOff) return undefined;
    const { saga: id } = await this.start(parent, child, context);
    const record = await this.#journal.load(id);
    return record && this.#cancel(record);
  }

  /** A child that is being undone, or cannot be cancelled now, is waited for: a person looks after it if it is stalled. */
  async #cancel({ id }: SagaRecord): Promise<Awaited | undefined> {
    const details = { reason: REASON };
    const { state } = await this.#journal.appendByOperator(id, ({ state: found }) => {
      if (found.status !== "PENDING" && found.status !== "RUNNING" && found.status !== "STALLED")
        return undefined;
      if (found.cancel || found.failure || pivotBegun(found)) return undefined;
      if (found.status === "STALLED") return { entry: turnEntry({ ...found, cancel: details }, "cancelled") };
      return { entry: control("$cancel", details) };
    });
    if (!state.paused) this.#engine.interrupt(id);
    this.#engine.dueIn(0);
    return state.status === "FAILED" ? undefined : { saga: id };
  }

  async #takeBack(waiting: Parent, { id }: SagaRecord): Promise<Awaited | undefined> {
    const made = newReversal(id, { reason: REASON }, waiting);
    const reversal = await this.#family.reverse(made, checkReversible);
    if (!reversal) throw gone(id);
    this.#engine.dueIn(0);
    return reversal.state.status === "COMPLETED" ? undefined : { saga: reversal.id, isReversal: true };
  }
}

/** The step of a parent as its child has it: another child may be started after one that failed. */
export function childStep(step: string, { failedChildren = 0 }: StepState): string {
  return failedChildren === 0 ? step : partName(step, failedChildren + 1);
}

export function childId({ id, step }: Parent): string {
  const own = `${id}:${step}`;
  if (own.length <= SAGA_ID_MAX) return own;
  return `${createHash("sha256").update(id).digest("hex")}:${step}`;
}

function gone(id: string): AmendsError {
  return new AmendsError(
    "SAGA_NOT_FOUND",
    `Child saga ${id} is gone: retention has removed it, or the database has lost it. Undo its effects by hand, then skip the step.`,
    { id },
  );
}
