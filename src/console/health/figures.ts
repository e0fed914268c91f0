/** What monitoring asks for: one look at the database serves all questions of a second. */
import type { ConsoleContext } from "../context.ts";
import { Shared } from "../http/shared.ts";
import { Readiness, type Found } from "./health.ts";
import { metricsText } from "./metrics.ts";

const FRESH_MS = 1_000;

/** The content type of Prometheus text. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export interface HealthFigures {
  readonly checks: Shared<Found>;
  readonly metrics: Shared<string>;
}

export function healthFigures(context: ConsoleContext, stuckAfterMs: number): HealthFigures {
  const { clock } = context.db;
  const readiness = new Readiness(context, stuckAfterMs);
  return {
    checks: new Shared(clock, FRESH_MS, () => readiness.look()),
    metrics: new Shared(clock, FRESH_MS, () => metricsText(context)),
  };
}
