/** Bulk actions: a preview, a start, their progress, and what a person may do about them. */
import { BULK_ACTIONS, BULK_KINDS, IDS_MAX } from "../../core/bulk/action.ts";
import { bulkMachine } from "../../core/bulk/machine.ts";
import type { BulkItems } from "../../bulk/request.ts";
import type { BulkFilter, BulkView } from "../../bulk/view.ts";
import { deliveryMachine } from "../../core/delivery/machine.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import { noteOf, type ConsoleContext } from "../context.ts";
import type { BulkDetail, BulkFilterLine, BulkLine, BulkPreview } from "../contract-bulk.ts";
import type { Page } from "../contract.ts";
import { badInput } from "../http/answer.ts";
import { after, toPage } from "../http/page.ts";
import {
  anyJson,
  attributes,
  bool,
  instant,
  limit,
  needed,
  oneOf,
  reason,
  someOf,
  text,
  type Param,
  type Values,
} from "../http/param.ts";
import { route, type Route } from "../http/route.ts";

/** Which of them fit an action is said by the library. */
const ITEMS = {
  action: needed(oneOf(BULK_ACTIONS)),
  ids: ids(),
  saga: text(64),
  status: someOf([...sagaMachine.states, ...outboxMachine.states, ...deliveryMachine.states]),
  attributes: attributes(),
  error: text(255),
  since: instant(),
  until: instant(),
  kind: oneOf(BULK_KINDS),
  name: text(255),
  subscription: text(128),
  step: text(255),
  result: anyJson(),
  as: oneOf(["COMPLETED", "FAILED"]),
  pivotDidNotHappen: bool(),
} as const;

function ids(): Param<readonly string[] | undefined> {
  const one = text(255);
  return {
    schema: { type: "array", items: one.schema, maxItems: IDS_MAX },
    required: false,
    read: (value, field) => {
      if (value === undefined) return undefined;
      if (!Array.isArray(value)) throw badInput(field, "must be a list of ids");
      return value.map((id: unknown) => one.read(id, field) ?? "");
    },
  };
}

export function bulkRoutes({ amends }: ConsoleContext): readonly Route[] {
  const { bulk } = amends;
  const path = "/api/bulk";
  return [
    route({
      method: "GET",
      path,
      access: "read",
      summary: "Bulk actions with their progress, the newest first.",
      answers: "Page<BulkLine>",
      query: { limit: limit(), after: after() },
      handle: async ({ query }): Promise<Page<BulkLine>> => {
        const { limit: max, after: place } = query;
        const found = await bulk.list({ limit: max, ...(place !== undefined && { after: place }) });
        return toPage(found, toLine);
      },
    }),
    route({
      method: "GET",
      path: `${path}/{id}`,
      access: "read",
      summary: "One bulk action with the items that were refused.",
      answers: "BulkDetail",
      handle: async ({ id }): Promise<BulkDetail> => toDetail(await bulk.get(id)),
    }),
    route({
      method: "POST",
      path: `${path}/preview`,
      access: "operate",
      summary: "How many items a bulk action would take now, and some of them. Nothing is changed.",
      answers: "BulkPreview",
      body: ITEMS,
      handle: async ({ body }): Promise<BulkPreview> => bulk.preview(itemsOf(body)),
    }),
    route({
      method: "POST",
      path,
      access: "operate",
      summary: "Starts a bulk action: a worker carries it out in the background, each item on record.",
      answers: "BulkDetail",
      body: { ...ITEMS, reason: reason(), id: text(64) },
      handle: async (call): Promise<BulkDetail> => {
        const { reason: _, id, ...items } = call.body;
        const request = { ...itemsOf(items), ...noteOf(call), ...(id !== undefined && { id }) };
        return toDetail(await bulk.start(request));
      },
    }),
    route({
      method: "POST",
      path: `${path}/{id}/stop`,
      access: "operate",
      summary: "Stops a bulk action after the page that is under way.",
      answers: "BulkDetail",
      body: { reason: reason() },
      handle: async (call): Promise<BulkDetail> => toDetail(await bulk.stop(call.id, noteOf(call))),
    }),
    route({
      method: "POST",
      path: `${path}/{id}/repeat`,
      access: "operate",
      summary: "Starts another bulk action over what an ended one has left.",
      answers: "BulkDetail",
      body: { reason: reason(), id: text(64) },
      handle: async (call): Promise<BulkDetail> => {
        const { id } = call.body;
        return toDetail(await bulk.repeat(call.id, { ...noteOf(call), ...(id !== undefined && { id }) }));
      },
    }),
  ];
}

/** What was left out is no option. */
function itemsOf(body: Values<typeof ITEMS>): BulkItems {
  const { status, since, until, ...given } = body;
  const isOfSagas = given.action !== "requeue" && given.action !== "resend";
  const options = {
    ...given,
    status: status.length === 0 ? undefined : isOfSagas || status.length > 1 ? status : status[0],
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
  };
  const said = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said) as unknown as BulkItems;
}

function toLine(view: BulkView): BulkLine {
  const { id, action, kind, status, reason: why, by = null, filter, step = null, as = null } = view;
  const { total, exact, done, refused, createdAt, updatedAt, endedAt, stop } = view;
  return {
    id,
    action,
    kind,
    status,
    reason: why,
    by,
    filter: filter ? toFilter(filter) : null,
    step,
    as,
    total,
    exact,
    done,
    refused,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    stop: stop ? { reason: stop.reason, by: stop.by ?? null } : null,
    actions: bulkMachine.isTerminal(status) ? ["repeat"] : status === "running" ? ["stop"] : [],
  };
}

function toFilter({ since, until, ...filter }: BulkFilter): BulkFilterLine {
  return {
    ...filter,
    ...(since && { since: since.toISOString() }),
    ...(until && { until: until.toISOString() }),
  };
}

function toDetail(view: BulkView): BulkDetail {
  return { ...toLine(view), refusals: view.refusals };
}
