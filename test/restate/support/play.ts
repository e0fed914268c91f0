/** Plays one story on an engine, and says what came of it in a form that does not depend on the engine. */
import { AmendsError } from "../../../src/index.ts";
import type { Entry } from "../../../src/core/saga/entry.ts";
import type { SagaOutcome } from "../../../src/sagas/view/outcome.ts";
import type { SagaView } from "../../../src/sagas/view/view.ts";
import { until } from "../../support/until.ts";
import type { Ledger } from "./ledger.ts";
import type { Outside, Story } from "./stories.ts";

/** An engine that runs the stories. */
export interface Engine {
  readonly ledger: Ledger;
  /** Starts the saga and says what can be done to it. */
  start(story: Story, id: string): Promise<Omit<Outside, "did" | "shows">>;
  view(story: Story, id: string): Promise<SagaView>;
  lines(story: Story, id: string): Promise<readonly Entry[]>;
}

export interface Played {
  readonly outcome: unknown;
  readonly meddled: unknown;
  readonly effects: readonly string[];
  readonly lines: readonly unknown[];
}

export async function play(engine: Engine, story: Story, id: string): Promise<Played> {
  const { ledger } = engine;
  const started = await engine.start(story, id);
  const outside: Outside = {
    ...started,
    shows: async (isShown) => void (await until(async () => isShown(await engine.view(story, id)))),
    did: async (effect, times = 1) => void (await until(() => ledger.count(id, effect) >= times)),
  };
  const meddled = await story.meddle?.(outside).catch(codeOf);
  const outcome = (await outside.result()) as SagaOutcome;
  const lines = await engine.lines(story, id);
  return {
    // A result that is undefined does not travel.
    outcome: JSON.parse(JSON.stringify({ ...outcome, id: "saga" })) as unknown,
    meddled: Array.isArray(meddled) || typeof meddled === "string" ? meddled : undefined,
    effects: ledger.of(id),
    lines: lines.flatMap(linesOf),
  };
}

function codeOf(error: unknown): string {
  if (error instanceof AmendsError) return error.code;
  throw error;
}

/** What a line says, without who has the saga since when: that is the engine's own affair. */
function linesOf({ step, action, status, details, next }: Entry): readonly unknown[] {
  const isOfSaga = step !== "$claim" && step !== "$release";
  const text = details?.replaceAll(/"(sinceMs|runningSinceMs)":\d+/g, '"$1":0') ?? null;
  const line = isOfSaga ? [[step, action, status, text]] : [];
  // A call may begin in the line before it, or in one of its own. The first one begins with the saga.
  return next && isOfSaga ? [...line, [next.step, next.action, "STARTED", null]] : line;
}

/** Steps that act at the same time end in any order. */
export function inAnyOrder({ outcome, meddled, effects, lines }: Played): Played {
  const sorted = lines.map((line) => JSON.stringify(line)).toSorted();
  return { outcome, meddled, effects: effects.toSorted(), lines: sorted };
}
