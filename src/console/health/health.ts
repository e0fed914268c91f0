/**
 * Readiness means progress: a process that answers but makes no progress is not ready. The oldest due work must not
 * have waited too long, and the database must have answered the worker of this process recently.
 */
import type { Health } from "../contract.ts";
import type { ConsoleContext } from "../context.ts";
import { dueAges } from "../../operate/backlog.ts";

type Check = NonNullable<Health["checks"]>[number];

export async function readiness(context: ConsoleContext, stuckAfterMs: number): Promise<readonly Check[]> {
  return [...(await dueChecks(context, stuckAfterMs)), ...workerCheck(context, stuckAfterMs)];
}

/** One check per part, because progress in one part says nothing about another. */
async function dueChecks({ db }: ConsoleContext, stuckAfterMs: number): Promise<readonly Check[]> {
  try {
    // Asked once, without retries: a health check reports trouble and does not wait for its end.
    const ages = await dueAges(db);
    return Object.entries(ages).map(([part, ageMs]) => ({
      name: `due ${part}`,
      ok: ageMs < stuckAfterMs,
      detail: `the oldest has waited for ${duration(ageMs)}`,
    }));
  } catch {
    return [{ name: "due work", ok: false, detail: "the database does not answer" }];
  }
}

function workerCheck({ amends }: ConsoleContext, stuckAfterMs: number): readonly Check[] {
  const agoMs = amends.context.answeredMsAgo();
  if (agoMs === undefined) return [];
  return [
    { name: "worker", ok: agoMs < stuckAfterMs, detail: `last looked for work ${duration(agoMs)} ago` },
  ];
}

/** `7 s`, `24 m 56 s`, `5 h 12 m`: as the pages and the command line show durations. */
function duration(ms: number): string {
  const whole = Math.round(ms / 1_000);
  const [hours, minutes, seconds] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  const parts =
    hours > 0
      ? [
          [hours, "h"],
          [minutes, "m"],
        ]
      : minutes > 0
        ? [
            [minutes, "m"],
            [seconds, "s"],
          ]
        : [];
  const shown = parts.filter(([count]) => count !== 0).map(([count, unit]) => `${count} ${unit}`);
  return shown.length === 0 ? `${seconds} s` : shown.join(" ");
}
