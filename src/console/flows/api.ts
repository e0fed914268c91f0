/** Event flows: lists, one run with its events and its picture, and what a person may do about one that stalled. */
import { flowMachine } from "../../core/flow/machine.ts";
import { isUuid } from "../../core/flow/sealed.ts";
import { selectDelivery, selectRun } from "../../events/store/queries.ts";
import { trailOf } from "../../events/store/rows.ts";
import type { Row } from "../../storage/database.ts";
import { notFound } from "../http/answer.ts";
import type { Revealers } from "../audit/api.ts";
import type { Page } from "../contract.ts";
import type { FlowDetail, FlowLine } from "../contract-parts.ts";
import { cursor, writeCursor } from "../http/cursor.ts";
import { errorOf, toFlowDetail, toFlowLine } from "./lines.ts";
import { findFlows, FLOW_SCAN_MAX, listFlows, selectFlowEvents, type FlowFilter } from "./queries.ts";
import { recorded, type ConsoleContext } from "../context.ts";
import { parsed } from "../outbox/lines.ts";
import { limit, reason, someOf, text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { plain } from "../sagas/search.ts";

/** Fewer letters are in too many types to mean one. */
const TYPE_PART_MIN = 3;

export function flowRoutes(context: ConsoleContext): readonly Route[] {
  const shared = {
    method: "POST",
    access: "operate",
    answers: "FlowDetail",
    body: { reason: reason() },
  } as const;
  const { events } = context;
  return [
    route({
      method: "GET",
      path: "/api/flows",
      access: "read",
      summary: "Runs of event flows by their last change, newest first.",
      answers: "Page<FlowLine>",
      query: {
        q: text(255),
        type: text(64),
        status: someOf(flowMachine.states),
        limit: limit(),
        after: cursor(),
      },
      handle: async ({ query }): Promise<Page<FlowLine>> => {
        const { q, type, status, after } = query;
        const statuses = status.length > 0 ? status : flowMachine.states;
        const types = type === undefined ? undefined : [type];
        return q === undefined
          ? listed(context, { statuses, types, after }, query.limit)
          : searched(context, q, { statuses, types, after }, query.limit);
      },
    }),
    route({
      method: "GET",
      path: "/api/flows/{id}",
      access: "read",
      summary: "One run: its events, its picture, and what may be done.",
      answers: "FlowDetail",
      handle: async ({ id }) => detailOf(context, id),
    }),
    route({
      ...shared,
      path: "/api/flows/{id}/retry",
      summary: "Asks once more for the undo that failed.",
      handle: async (call) => {
        await recorded(context, call, "retry", "flow", async (note) => {
          await rowOf(context, call.id);
          await events.retry(call.id, note);
        });
        return detailOf(context, call.id);
      },
    }),
    route({
      ...shared,
      path: "/api/flows/{id}/resolve",
      summary: "A person has undone the step: the run goes on with what is left to undo.",
      handle: async (call) => {
        await recorded(context, call, "resolve", "flow", async (note) => {
          await rowOf(context, call.id);
          await events.resolve(call.id, note);
        });
        return detailOf(context, call.id);
      },
    }),
  ];
}

export function flowRevealers(context: ConsoleContext): Revealers {
  const { db, query } = context;
  return {
    flow: async (id) => {
      const row = await rowOf(context, id);
      const sent = await query(selectFlowEvents(db.dialect, trailOf(row)));
      return { fields: { error: errorOf(toFlowLine(row, undefined), sent) ?? null } };
    },
    event: async (id) => {
      const [row] = isUuid(id) ? await query(selectDelivery(db.dialect, id)) : [];
      if (!row) throw notFound("event with this id");
      return { fields: { data: parsed(row["payload"] as string | null) } };
    },
  };
}

async function rowOf({ db, query }: ConsoleContext, id: string): Promise<Row> {
  const [row] = await query(selectRun(db.dialect, id));
  if (!row) throw notFound("run with this id");
  return row;
}

async function detailOf(context: ConsoleContext, id: string): Promise<FlowDetail> {
  const row = await rowOf(context, id);
  const sent = await context.query(selectFlowEvents(context.db.dialect, trailOf(row)));
  return toFlowDetail(row, sent, stepsOf(context, row));
}

function stepsOf({ events }: ConsoleContext, row: Row): ReturnType<typeof events.steps> {
  return events.steps(row["saga_type"] as string);
}

/** What was typed is a part of types, where it fits some; else the beginning of a process's id, or a run's id. */
async function searched(
  context: ConsoleContext,
  q: string,
  filter: FlowFilter,
  max: number,
): Promise<Page<FlowLine>> {
  const known = await context.flowTypes();
  const word = plain(q);
  const named = word.length < TYPE_PART_MIN ? [] : known.filter((type) => plain(type).includes(word));
  const wanted = filter.types ?? known;
  if (named.length > 0) {
    return listed(context, { ...filter, types: named.filter((type) => wanted.includes(type)) }, max);
  }
  const rows = await context.query(findFlows(context.db.dialect, q.trim(), wanted, filter, max + 1));
  return pageOf(context, rows, max);
}

async function listed(context: ConsoleContext, filter: FlowFilter, max: number): Promise<Page<FlowLine>> {
  const rows = await context.query(listFlows(context.db.dialect, filter, max + 1));
  const edge = rows.find((row) => Number(row["edge"]) === 1);
  const found = pageOf(
    context,
    rows.filter((row) => row !== edge),
    max,
  );
  if (found.next !== null || !edge || Number(edge["looked"]) < FLOW_SCAN_MAX) return found;
  // There is more to look through: the next page goes on where this one stopped looking.
  return { items: found.items, next: cursorOf(edge) };
}

function pageOf(context: ConsoleContext, rows: readonly Row[], max: number): Page<FlowLine> {
  const shown = rows.slice(0, max);
  const last = shown.at(-1);
  return {
    items: shown.map((row) => toFlowLine(row, stepsOf(context, row))),
    next: last && rows.length > max ? cursorOf(last) : null,
  };
}

function cursorOf(row: Row): string {
  return writeCursor({ atMs: Number(row["updated_at"]), id: row["saga_id"] as string });
}
