/** What people did, and how a value becomes readable: both leave a trace before anything else happens. */
import { listActionPage } from "../../audit/list.ts";
import type { ActionLine, Page, Revealed } from "../contract.ts";
import { after, toPage } from "../http/page.ts";
import { whoOf, type ConsoleContext } from "../context.ts";
import { limit, needed, oneOf, reason, text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { sagaOf } from "../sagas/api.ts";
import { revealSaga } from "../sagas/detail.ts";

/** What can be revealed, by the part that keeps it. */
export type Revealers = Readonly<Record<string, (id: string) => Promise<Revealed>>>;

export function sagaRevealers(context: ConsoleContext): Revealers {
  return { saga: async (id) => revealSaga((await sagaOf(context, id)).view) };
}

export function auditRoutes(context: ConsoleContext, revealers: Revealers): readonly Route[] {
  const { actions } = context;
  return [
    route({
      method: "GET",
      path: "/api/audit",
      access: "read",
      summary: "What people did, newest first.",
      answers: "Page<ActionLine>",
      query: { by: text(255), action: text(64), target: text(255), limit: limit(), after: after() },
      handle: async ({ query }): Promise<Page<ActionLine>> =>
        toPage(await listActionPage(context.reader, query), ({ at, code, ...action }) => ({
          ...action,
          at: at.toISOString(),
          code: code ?? null,
        })),
    }),
    route({
      method: "POST",
      path: "/api/reveal",
      access: "reveal",
      summary: "One stored value, readable.",
      answers: "Revealed",
      body: {
        kind: needed(oneOf(Object.keys(revealers))),
        id: needed(text(255)),
        reason: reason(),
      },
      handle: async (call): Promise<Revealed> => {
        const { kind, id, reason: why } = call.body;
        const about = { by: whoOf(call).name, action: "reveal", target: { kind, id }, reason: why };
        return actions.around(about, async () => (revealers[kind] as Revealers[string])(id));
      },
    }),
  ];
}
