/** What is known of workers that count as running: when the most silent one was last heard. */
import { span } from "./words.ts";

/** `, last heard 12 s ago`; of several `, the most silent one last heard 41 s ago`. */
export function silenceText(running: number, silentMs: number): string {
  return `, ${running === 1 ? "" : "the most silent one "}last heard ${span(silentMs)} ago`;
}

/** Without a worker, work is done by runs from a cron job. */
export function runsText(runMsAgo: number): string {
  return `cron runs: the last one began ${span(runMsAgo)} ago`;
}

/** Due work that a cron job should have taken by now. */
export const RUN_LATE_MS = 60_000;

export const RUNS_ADVICE =
  "Due work waits for the next run: check that the cron job still runs, and how often (amends worker --once, or the route of workHandler).";

export const SILENT_ADVICE =
  "Workers say every 15 s that they run. A worker that was killed counts for a minute.";
