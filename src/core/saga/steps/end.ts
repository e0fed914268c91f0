/**
 * What follows the end of a saga is a step of its own: the last one before COMPLETED, or the last undo before FAILED. The saga has
 * not ended while it fails, and its success is the end.
 */

/** The end that a planned step belongs to. */
export type End = "completed" | "failed";

/** The names of these steps. No other step can have them. */
export const END_STEPS: Readonly<Record<End, string>> = { completed: "onCompleted", failed: "onFailed" };

/** `:#completed` behind the step's signs: no signal has such a name. */
export function endText(end: End): string {
  return `:#${end}`;
}

/** Undefined if this is no such text. */
export function readEnd(text: string): End | undefined {
  return text === endText("completed") ? "completed" : text === endText("failed") ? "failed" : undefined;
}
