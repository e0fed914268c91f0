/** What is known of one run: how far it came, what is still to be undone, and why it turned back. */
import type { FlowStatus } from "./machine.ts";

/** `sent`: the command goes out and nobody is waited for. `answered`: it has a handler, whose answer is waited for. */
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
  /** How many steps have been done, going forward: the index of the one that is waited for. */
  readonly currentStep: number;
  readonly completedSteps: readonly string[];
  /** What is still to be undone, next one first. */
  readonly undoSteps: readonly string[];
  /** The step whose handler still runs although the run has turned back: undoing begins when it has ended. */
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
