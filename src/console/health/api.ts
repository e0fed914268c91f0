/** Routes for monitoring: health, readiness and metrics. */
import { answer, json } from "../http/answer.ts";
import type { Health } from "../contract.ts";
import { healthFigures, METRICS_TYPE } from "./figures.ts";
import type { ConsoleContext } from "../context.ts";
import { openApi } from "../http/openapi.ts";
import { route, type Route } from "../http/route.ts";

export interface HealthTools {
  readonly context: ConsoleContext;
  readonly stuckAfterMs: number;
  readonly version: string;
  /** All routes, these included. */
  routes(): readonly Route[];
}

export function healthRoutes(tools: HealthTools): readonly Route[] {
  const { context, stuckAfterMs, version } = tools;
  const { checks, metrics } = healthFigures(context, stuckAfterMs);
  return [
    route({
      method: "GET",
      path: "/api/health",
      access: "open",
      summary: "The process answers.",
      answers: "Health",
      handle: async (): Promise<Health> => ({ status: "ok" }),
    }),
    route({
      method: "GET",
      path: "/api/ready",
      access: "open",
      summary: "Work gets on. 503 if it does not.",
      answers: "Health",
      handle: async ({ who }) => {
        const found = await checks.get();
        const isReady = found.checks.every(({ ok }) => ok);
        const health: Health = { status: isReady ? "ok" : "stuck", ...(who && found) };
        return json(health, isReady ? 200 : 503);
      },
    }),
    route({
      method: "GET",
      path: "/api/metrics",
      access: "read",
      summary: "Figures as Prometheus text.",
      answers: "text/plain",
      handle: async () => answer(await metrics.get(), 200, { "content-type": METRICS_TYPE }),
    }),
    route({
      method: "GET",
      path: "/api/openapi.json",
      access: "read",
      summary: "This document.",
      answers: "OpenApi",
      handle: async () => openApi(tools.routes(), version),
    }),
  ];
}
