/** All routes of the console, part by part. */
import { attentionRoutes } from "./attention/api.ts";
import { auditRoutes, sagaRevealers } from "./audit/api.ts";
import { bulkRoutes } from "./bulk/api.ts";
import { erasureRoutes } from "./erasures/api.ts";
import { flowRevealers, flowRoutes } from "./flows/api.ts";
import { handlerRoutes } from "./handlers/api.ts";
import { healthRoutes } from "./health/api.ts";
import type { Live } from "./live/live.ts";
import { liveRoutes } from "./live/api.ts";
import { entryRevealers, outboxRoutes, type EntryActions } from "./outbox/api.ts";
import { overviewRoutes } from "./overview/api.ts";
import type { Route } from "./http/route.ts";
import { pauseRoutes } from "./pauses/api.ts";
import { sagaRoutes } from "./sagas/api.ts";
import { scheduleRevealers, scheduleRoutes } from "./schedules/api.ts";
import { webhookRevealers, webhookRoutes } from "./webhooks/api.ts";
import { sessionRoutes, type SessionTools } from "./session/api.ts";

export interface RouteTools extends SessionTools {
  readonly live: Live;
  readonly closing: AbortSignal;
  readonly stuckAfterMs: number;
  /** Undefined if the console has no outbox: abandoned erasures can then be seen here, but not requeued or resolved. */
  readonly entryActions: EntryActions | undefined;
}

export function allRoutes(tools: RouteTools): readonly Route[] {
  const { context, sessions, live, closing, stuckAfterMs, version, entryActions } = tools;
  const routes: readonly Route[] = [
    ...sessionRoutes(tools),
    ...overviewRoutes(context),
    ...sagaRoutes(context),
    ...pauseRoutes(context),
    ...scheduleRoutes(context),
    ...attentionRoutes(context),
    ...bulkRoutes(context),
    ...outboxRoutes(context, entryActions),
    ...erasureRoutes(context, entryActions !== undefined),
    ...flowRoutes(context),
    ...handlerRoutes(context),
    ...webhookRoutes(context),
    ...auditRoutes(context, {
      ...sagaRevealers(context),
      ...scheduleRevealers(context),
      ...entryRevealers(context),
      ...flowRevealers(context),
      ...webhookRevealers(context),
    }),
    ...liveRoutes({ live, clock: context.db.clock, closing, sessions }),
    ...healthRoutes({ context, stuckAfterMs, version, routes: () => routes }),
  ];
  return routes;
}
