/**
 * Health is progress, not life: a process that answers while its work lies still is not ready. The oldest due work must
 * not have waited too long, and a worker that runs here must have heard from the database lately.
 */
import { HOST } from "../../runtime/part.ts";
import type { Health } from "../contract.ts";
import type { ConsoleContext } from "../context.ts";
import { dueAges } from "../../operate/backlog.ts";

type Check = NonNullable<Health["checks"]>[number];

export async function readiness(context: ConsoleContext, stuckAfterMs: number): Promise<readonly Check[]> {
  return [...(await dueChecks(context, stuckAfterMs)), ...workerCheck(context, stuckAfterMs)];
}

/** One for each part: what lies still in one is not made good by another that gets on. */
async function dueChecks({ db }: ConsoleContext, stuckAfterMs: number): Promise<readonly Check[]> {
  try {
    // Asked once, without retries: a health check reports trouble and does not wait for its end.
    const ages = await dueAges(db);
    return Object.entries(ages).map(([part, ageMs]) => ({
      name: `due ${part}`,
      ok: ageMs < stuckAfterMs,
      detail: `the oldest has waited for ${seconds(ageMs)}`,
    }));
  } catch {
    return [{ name: "due work", ok: false, detail: "the database does not answer" }];
  }
}

function workerCheck({ amends }: ConsoleContext, stuckAfterMs: number): readonly Check[] {
  const agoMs = amends[HOST].answeredMsAgo();
  if (agoMs === undefined) return [];
  return [{ name: "worker", ok: agoMs < stuckAfterMs, detail: `last looked for work ${seconds(agoMs)} ago` }];
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
