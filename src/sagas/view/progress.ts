/** What the calls of a saga have reported of their progress, as people see it. */
import type { Json } from "../../core/json.ts";
import { decodeProgress, namedCall, openProgress } from "../../core/saga/progress.ts";
import type { SagaRecord } from "../journal/journal.ts";

/** What a call has reported of its progress. */
export interface CallProgress {
  /** The name of the step; of one item or round with its number, as in the timeline. */
  readonly step: string;
  /** Whether the step's act or its compensation has reported it. */
  readonly action: "act" | "compensate";
  /** The value. It may hold personal data. */
  readonly value: Json;
  /** When it was reported, by the clock of its worker. */
  readonly at: Date;
}

export function progressOf({ state, progress }: SagaRecord): readonly CallProgress[] {
  const stored = decodeProgress(progress);
  if (!stored) return [];
  return [...openProgress(state, stored)].map(([name, { json, atMs }]) => {
    const { step, kind } = namedCall(name);
    const action = kind === "act" ? "act" : "compensate";
    return { step, action, value: JSON.parse(json) as Json, at: new Date(atMs) };
  });
}
