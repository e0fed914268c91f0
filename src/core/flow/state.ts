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
  /** The events that it waits for, all of them. */
  readonly takes: readonly string[];
  /** The events of its success, of which it gives one. */
  readonly gives: readonly string[];
}

export interface FlowPlan {
  /** The event that begins a run. Only the first step takes it. */
  readonly trigger: string;
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
  /** The number of completed steps; in a chain, the index of the step that the run waits for. */
  readonly currentStep: number;
  readonly completedSteps: readonly string[];
  /** By step: the event that it gave, of those that may give one of several. */
  readonly answers: Readonly<Record<string, string>>;
  /** The remaining compensations, next one first. */
  readonly undoSteps: readonly string[];
  /**
   * The steps whose handlers have not ended although the run compensates: compensation begins when all of them have.
   */
  readonly lateSteps: readonly string[];
  readonly failure: FlowFailure | undefined;
}

export const BEGUN: FlowState = {
  status: "running",
  currentStep: 0,
  completedSteps: [],
  answers: {},
  undoSteps: [],
  lateSteps: [],
  failure: undefined,
};
