/** What people did, and how a value becomes readable: both leave a trace before anything else happens. */
import { listActions } from "../../audit/action-queries.ts";
import { toAction } from "../../audit/rows.ts";
import type { ActionLine, Page, Revealed } from "../contract.ts";
import { cursor, writeCursor } from "../http/cursor.ts";
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
  const { actions, db } = context;
  return [
    route({
      method: "GET",
      path: "/api/audit",
      access: "read",
      summary: "What people did, newest first.",
      answers: "Page<ActionLine>",
      query: { by: text(255), action: text(64), target: text(255), limit: limit(), after: cursor() },
      handle: async ({ query }): Promise<Page<ActionLine>> => {
        const { limit: max, ...filter } = query;
        const rows = await context.query(listActions(db.dialect, { ...filter, limit: max + 1 }));
        const last = rows.length > max ? rows[max - 1] : undefined;
        return {
          items: rows.slice(0, max).map((row) => {
            const { at, code, ...action } = toAction(row);
            return { ...action, at: at.toISOString(), code: code ?? null };
          }),
          next: last ? writeCursor({ atMs: Number(last["at"]), id: last["id"] as string }) : null,
        };
      },
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
