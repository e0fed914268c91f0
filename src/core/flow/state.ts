/** The state of one run: its progress, the remaining compensations, and the reason for compensating. */
import type { FlowStatus } from "./machine.ts";

/**
 * `sent`: the run does not wait for an answer to the command. `answered`: the run waits for the answer of its
 * handler.
 */
export type UndoKind = "none" | "sent" | "answered";

export interface FlowStep {
  readonly name: string;
  readonly undo: UndoKind;
}

export interface FlowPlan {
  readonly steps: readonly FlowStep[];
}

/** Why a run compensates. */
export interface FlowFailure {
  /** The step that failed. */
  readonly step: string;
  /** The name of the failure event, or the label of the thrown error. */
  readonly error: string;
}

export interface FlowState {
  readonly status: FlowStatus;
  /** The number of completed steps: the index of the step that the run waits for. */
  readonly currentStep: number;
  readonly completedSteps: readonly string[];
  /** The remaining compensations, next one first. */
  readonly undoSteps: readonly string[];
  /**
   * The step whose handler still runs although the run compensates: compensation begins when the handler has ended.
   */
  readonly lateStep: string | undefined;
  readonly failure: FlowFailure | undefined;
}

export const BEGUN: FlowState = {
  status: "running",
  currentStep: 0,
  completedSteps: [],
  undoSteps: [],
  lateStep: undefined,
  failure: undefined,
};
