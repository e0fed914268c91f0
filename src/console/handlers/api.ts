/** Registered handlers of events: which processes have them, what waits for them, and the end of their subscriptions. */
import { readHandler, type EventSubscription } from "../../events/subscriptions/operators.ts";
import { recorded, type ConsoleContext } from "../context.ts";
import type { Page } from "../contract.ts";
import type { HandlerDetail, HandlerLine } from "../contract-parts.ts";
import { notFound } from "../http/answer.ts";
import { reason } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";

export function handlerRoutes(context: ConsoleContext): readonly Route[] {
  const { events, reader } = context;
  return [
    route({
      method: "GET",
      path: "/api/handlers",
      access: "read",
      summary: "The handlers of events that workers have registered, by name.",
      answers: "Page<HandlerLine>",
      handle: async (): Promise<Page<HandlerLine>> => {
        const all = await events.handlers();
        return { items: all.map((one) => toLine(one)), next: null };
      },
    }),
    route({
      method: "GET",
      path: "/api/handlers/{id}",
      access: "read",
      summary: "One handler, with every event that it takes.",
      answers: "HandlerDetail",
      handle: async ({ id }) => detailOf(id, await readHandler(reader, id)),
    }),
    route({
      method: "POST",
      path: "/api/handlers/{id}/retire",
      access: "operate",
      answers: "HandlerDetail",
      body: { reason: reason() },
      summary:
        "Ends the subscription of a handler that no process has any more; what waits for it is superseded.",
      handle: async (call) => {
        const { superseded } = await recorded(context, call, "retire", "handler", async (note) => {
          detailOf(call.id, await readHandler(reader, call.id));
          return events.retire(call.id, note);
        });
        return { ...detailOf(call.id, await readHandler(reader, call.id)), superseded };
      },
    }),
  ];
}

function toLine(one: EventSubscription): HandlerLine {
  const { handler, event, version, saga = null, step = null, status, backlog } = one;
  const [registeredAt, seenAt] = [one.registeredAt.toISOString(), one.seenAt.toISOString()];
  const actions = status === "served" || (status === "retired" && backlog === 0) ? [] : (["retire"] as const);
  return { id: handler, event, version, saga, step, status, backlog, registeredAt, seenAt, actions };
}

function detailOf(id: string, found: readonly EventSubscription[]): HandlerDetail {
  const lines = found.map((one) => toLine(one));
  const [first] = lines;
  if (!first) throw notFound("handler of this name");
  const status = (["served", "unserved", "retired"] as const).find((one) =>
    lines.some((line) => line.status === one),
  );
  const actions =
    lines.some((line) => line.actions.length > 0) && status !== "served" ? (["retire"] as const) : [];
  return { id, status: status ?? first.status, actions, subscriptions: lines };
}
