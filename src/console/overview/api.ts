/** GET api/overview: one answer for all who look. */
import type { Overview, OverviewHistory, Window } from "../contract.ts";
import { historyOf } from "./history.ts";
import type { ConsoleContext } from "../context.ts";
import { overviewOf, WINDOWS } from "./overview.ts";
import { oneOf } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { Shared } from "../http/shared.ts";

const FRESH_MS = 1_000;
/** A stretch that is over does not change. */
const HISTORY_FRESH_MS = 10_000;

export function overviewRoutes(context: ConsoleContext): readonly Route[] {
  const windows = Object.keys(WINDOWS) as Window[];
  const shared = new Map<Window, Shared<Overview>>(
    windows.map((window) => [
      window,
      new Shared(context.db.clock, FRESH_MS, () => overviewOf(context, window)),
    ]),
  );
  const histories = new Map<Window, Shared<OverviewHistory>>(
    windows.map((window) => [
      window,
      new Shared(context.db.clock, HISTORY_FRESH_MS, () => historyOf(context, window)),
    ]),
  );
  return [
    route({
      method: "GET",
      path: "/api/overview/history",
      access: "read",
      summary: "What the plots of the first page begin with.",
      answers: "OverviewHistory",
      query: { window: oneOf(windows) },
      handle: async ({ query }) => histories.get(query.window ?? "1h")?.get(),
    }),
    route({
      method: "GET",
      path: "/api/overview",
      access: "read",
      summary: "Figures for the first page.",
      answers: "Overview",
      query: { window: oneOf(windows) },
      handle: async ({ query }) => shared.get(query.window ?? "1h")?.get(),
    }),
  ];
}
