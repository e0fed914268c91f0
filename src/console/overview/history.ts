/** What the plots begin with: how it went in each stretch of the window, from a few of the sagas that ended in it. */
import type { OverviewHistory, Window } from "../contract.ts";
import type { ConsoleContext } from "../context.ts";
import { percentile, stretchesOf, WINDOWS } from "./overview.ts";
import { iso } from "../sagas/lines.ts";
import { listHistory } from "../sagas/queries.ts";

/** So many of each stretch say how long they took. */
const SAMPLE = 25;

export async function historyOf(context: ConsoleContext, window: Window): Promise<OverviewHistory> {
  const { dialect } = context.db;
  const { widthMs, count } = WINDOWS[window];
  const fromMs = stretchesOf(window, await context.nowMs());
  const rows = await context.query(listHistory(dialect, { fromMs, widthMs, count, sample: SAMPLE }));
  const found = Array.from({ length: count }, () => ({ took: [] as number[], waited: [] as number[] }));
  for (const row of rows) {
    const [took = 0, waited = 0] = (row["value"] as string).split(" ").map(Number);
    found[Number(row["n"])]?.took.push(took);
    found[Number(row["n"])]?.waited.push(waited);
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
