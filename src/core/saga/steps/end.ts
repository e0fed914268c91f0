/**
 * What follows the end of a saga is a step of its own: the last one before COMPLETED, the last undo before FAILED, or the last undo of
 * the saga that takes it back. The saga has not ended while it fails, and its success is the end.
 */

/** The end that a planned step belongs to. */
export type End = "completed" | "failed" | "reversed";

/** The names of these steps. No other step can have them. */
export const END_STEPS: Readonly<Record<End, string>> = {
  completed: "onCompleted",
  failed: "onFailed",
  reversed: "onReversed",
};

const ENDS = Object.keys(END_STEPS) as readonly End[];

/** `:#completed` behind the step's signs: no signal has such a name. */
export function endText(end: End): string {
  return `:#${end}`;
}

/** Undefined if this is no such text. */
export function readEnd(text: string): End | undefined {
  return ENDS.find((end) => endText(end) === text);
}
