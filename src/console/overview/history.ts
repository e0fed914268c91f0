/** The initial data of the plots: figures of each span of the window, sampled from the sagas that ended in it. */
import { sampleCompleted } from "../../sagas/read/figures.ts";
import { readNowMs } from "../../storage/database-time.ts";
import type { ConsoleContext } from "../context.ts";
import type { OverviewHistory, Window } from "../contract.ts";
import { iso } from "../sagas/lines.ts";
import { percentile, spansOf } from "./overview.ts";

/** The number of sagas per span from which the durations are sampled. */
const SAMPLE = 25;

export async function historyOf({ reader }: ConsoleContext, window: Window): Promise<OverviewHistory> {
  const spans = spansOf(window, await readNowMs(reader));
  const { fromMs, widthMs, count } = spans;
  const found = Array.from({ length: count }, () => ({ took: [] as number[], waited: [] as number[] }));
  for (const { span, tookMs, waitedMs } of await sampleCompleted(reader, spans, SAMPLE)) {
    found[span]?.took.push(tookMs);
    found[span]?.waited.push(waitedMs);
  }
  return {
    window,
    bucketMs: widthMs,
    points: found.map(({ took, waited }, n) => ({
      at: iso(fromMs + n * widthMs),
      p50Ms: percentile(took, 0.5),
      p95Ms: percentile(took, 0.95),
      waitedMs: waited.length === 0 ? null : Math.max(0, Math.round(Math.max(...waited))),
    })),
  };
}
