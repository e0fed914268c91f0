/** What is known of workers that count as running: when the most silent one was last heard. */
import { span } from "./words.ts";

/** `, last heard 12 s ago`; of several `, the most silent one last heard 41 s ago`. */
export function silenceText(running: number, silentMs: number): string {
  return `, ${running === 1 ? "" : "the most silent one "}last heard ${span(silentMs)} ago`;
}

export const SILENT_ADVICE =
  "Workers say every 15 s that they run. A worker that was killed counts for a minute.";
