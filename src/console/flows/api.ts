/** Event flows: lists, one run with its events and its picture, and what a person may do about one that stalled. */
import type { Page as RunPage } from "../../core/cursor.ts";
import { flowMachine } from "../../core/flow/machine.ts";
import { listRuns, listRunsByPrefix, readRun, type RunFilter } from "../../events/read/list.ts";
import type { ListedRun } from "../../events/read/run.ts";
import { readEntry, readTrail } from "../../outbox/read/list.ts";
import { notFound } from "../http/answer.ts";
import type { Revealers } from "../audit/api.ts";
import type { Page } from "../contract.ts";
import type { FlowDetail, FlowLine } from "../contract-parts.ts";
import { after, toPage } from "../http/page.ts";
import { errorOf, toFlowDetail, toFlowLine } from "./lines.ts";
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
        after: after(),
      },
      handle: async ({ query }): Promise<Page<FlowLine>> => {
        const { q, type, status, limit: max, after: place } = query;
        const filter = {
          statuses: status.length > 0 ? status : flowMachine.states,
          types: type === undefined ? undefined : [type],
          limit: max,
          after: place,
        };
        const found =
          q === undefined ? await listRuns(context.reader, filter) : await searched(context, q, filter);
        return toPage(found, (run) => toFlowLine(run, stepsOf(context, run)));
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
          await runOf(context, call.id);
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
          await runOf(context, call.id);
          await events.resolve(call.id, note);
        });
        return detailOf(context, call.id);
      },
    }),
  ];
}

export function flowRevealers(context: ConsoleContext): Revealers {
  const { reader } = context;
  return {
    flow: async (id) => {
      const run = await runOf(context, id);
      return { fields: { error: errorOf(run, await readTrail(reader, run.trail)) ?? null } };
    },
    event: async (id) => {
      const entry = await readEntry(reader, id);
      if (entry?.kind !== "event" && entry?.kind !== "delivery") throw notFound("event with this id");
      return { fields: { data: parsed(entry.payload) } };
    },
  };
}

async function runOf({ reader }: ConsoleContext, id: string): Promise<ListedRun> {
  const run = await readRun(reader, id);
  if (!run) throw notFound("run with this id");
  return run;
}

async function detailOf(context: ConsoleContext, id: string): Promise<FlowDetail> {
  const run = await runOf(context, id);
  return toFlowDetail(run, await readTrail(context.reader, run.trail), stepsOf(context, run));
}

function stepsOf({ events }: ConsoleContext, { type }: ListedRun): ReturnType<typeof events.steps> {
  return events.steps(type);
}

/** A word is a part of types, if it fits some; else the beginning of a process's id, or a run's id. */
async function searched(context: ConsoleContext, q: string, filter: RunFilter): Promise<RunPage<ListedRun>> {
  const known = await context.flowTypes();
  const word = plain(q);
  const named = word.length < TYPE_PART_MIN ? [] : known.filter((type) => plain(type).includes(word));
  const wanted = filter.types ?? known;
  if (named.length === 0) return listRunsByPrefix(context.reader, q.trim(), wanted, filter);
  return listRuns(context.reader, { ...filter, types: named.filter((type) => wanted.includes(type)) });
}
