/** What monitoring asks for: one look at the database serves all questions of a second. */
import { Readiness, type Found } from "../../operate/health/readiness.ts";
import type { ConsoleContext } from "../context.ts";
import { Shared } from "../http/shared.ts";
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
  const workerHealth = () => context.amends.context.workerHealth();
  const readiness = new Readiness(context.db);
  return {
    checks: new Shared(clock, FRESH_MS, () => readiness.look(stuckAfterMs, workerHealth)),
    metrics: new Shared(clock, FRESH_MS, () => metricsText(context)),
  };
}
