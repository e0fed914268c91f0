/** The outbox: lists, one entry, and the actions on abandoned entries. */
import { OUTBOX_KINDS } from "../../core/outbox/entry.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import type { Outbox } from "../../erasure/remote/outbox.ts";
import type { ListedEntry } from "../../outbox/read/entry.ts";
import { listEntries, openEntriesOf, readEntry, type EntryFilter } from "../../outbox/read/list.ts";
import { requeueCalls } from "../../outbox/requeue.ts";
import { persist } from "../../storage/retry.ts";
import type { Revealers } from "../audit/api.ts";
import { recorded, type ConsoleContext } from "../context.ts";
import type { Page } from "../contract.ts";
import type { OutboxLine } from "../contract-parts.ts";
import { notFound, Refused } from "../http/answer.ts";
import { after, toPage } from "../http/page.ts";
import { limit, reason, someOf, text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { revealEntry, toOutboxLine } from "./lines.ts";

/** What an operator may do to an abandoned entry of the application's outbox. */
export type EntryActions = Pick<Outbox, "requeue" | "resolve">;

export function outboxRoutes(
  context: ConsoleContext,
  entryActions: EntryActions | undefined,
): readonly Route[] {
  const toLine = (entry: ListedEntry): OutboxLine => toOutboxLine(entry, entryActions !== undefined);
  return [
    route({
      method: "GET",
      path: "/api/outbox",
      access: "read",
      summary: "Entries of the outbox, newest first.",
      answers: "Page<OutboxLine>",
      query: {
        status: someOf(outboxMachine.states),
        kind: someOf(OUTBOX_KINDS),
        subject: text(255),
        resolver: text(255),
        limit: limit(),
        after: after(),
      },
      handle: async ({ query }) => {
        const { status: statuses, kind: kinds, subject, resolver: name, limit: max, after: place } = query;
        return pageOf(context, { statuses, kinds, name, limit: max, after: place }, subject, toLine);
      },
    }),
    route({
      method: "GET",
      path: "/api/outbox/{id}",
      access: "read",
      summary: "One entry of the outbox.",
      answers: "OutboxLine",
      handle: async ({ id }) => toLine(await entryOf(context, id)),
    }),
    route({
      method: "POST",
      path: "/api/outbox/{id}/requeue",
      access: "operate",
      summary: "Gives an abandoned entry a fresh budget.",
      answers: "OutboxLine",
      body: { reason: reason() },
      handle: async (call) => {
        await recorded(context, call, "requeue", "entry", (note) =>
          requeue(context, entryActions, call.id, note),
        );
        return toLine(await entryOf(context, call.id));
      },
    }),
    route({
      method: "POST",
      path: "/api/outbox/{id}/retry",
      access: "operate",
      summary: "Gives an abandoned event new attempts.",
      answers: "OutboxLine",
      body: { reason: reason() },
      handle: async (call) => {
        await recorded(context, call, "retry", "event", async (note) => {
          await entryOf(context, call.id);
          await context.events.retry(call.id, note);
        });
        return toLine(await entryOf(context, call.id));
      },
    }),
    route({
      method: "POST",
      path: "/api/outbox/{id}/resolve",
      access: "operate",
      summary:
        "Confirms an abandoned erasure or rectification by hand, or closes an abandoned event; a run that waits for the event counts its step as failed.",
      answers: "OutboxLine",
      body: { reason: reason() },
      handle: async (call) => {
        const isErasure = (await readEntry(context.reader, call.id))?.kind === "erasure";
        await recorded(context, call, "resolve", isErasure ? "entry" : "event", (note) =>
          isErasure ? resolveErasure(entryActions, call.id, note) : resolveEvent(context, call.id, note),
        );
        return toLine(await entryOf(context, call.id));
      },
    }),
  ];
}

export function entryRevealers(context: ConsoleContext): Revealers {
  return { entry: async (id) => ({ fields: revealEntry(await entryOf(context, id)) }) };
}

async function requeue(
  context: ConsoleContext,
  entryActions: EntryActions | undefined,
  id: string,
  note: Note,
): Promise<void> {
  const { kind } = await entryOf(context, id);
  if (kind === "call") return requeueCall(context, id);
  const [entry] = await needed(entryActions).requeue([id], note);
  if (!entry) throw notAbandoned("requeued");
}

interface Note {
  readonly reason: string;
  readonly by: string;
}

async function resolveErasure(entryActions: EntryActions | undefined, id: string, note: Note): Promise<void> {
  const [entry] = await needed(entryActions).resolve([id], note);
  if (!entry) throw notAbandoned("resolved");
}

async function resolveEvent(context: ConsoleContext, id: string, note: Note): Promise<void> {
  await entryOf(context, id);
  await context.events.resolve(id, note);
}

function needed(entryActions: EntryActions | undefined): EntryActions {
  if (entryActions) return entryActions;
  const message =
    "Erasure is not configured in the console's process. Pass `erasure: { dataMap }` to its `new Amends`.";
  throw new Refused(501, { code: "NOT_CONFIGURED", message });
}

/** A call needs nothing but its row: the process that makes such calls takes it up again. */
async function requeueCall({ db }: ConsoleContext, id: string): Promise<void> {
  const requeuing = requeueCalls([id]);
  const done = await persist(db, () => db.transaction((session) => requeuing.run(session)));
  if (done.length === 0) throw notAbandoned("requeued");
}

function notAbandoned(what: "requeued" | "resolved"): Refused {
  return new Refused(409, { code: "NOT_ALLOWED_NOW", message: `Only an abandoned entry can be ${what}.` });
}

async function entryOf({ reader }: ConsoleContext, id: string): Promise<ListedEntry> {
  const entry = await readEntry(reader, id);
  if (!entry) throw notFound("entry with this id");
  return entry;
}

async function pageOf(
  { reader }: ConsoleContext,
  filter: EntryFilter,
  subjectId: string | undefined,
  toLine: (entry: ListedEntry) => OutboxLine,
): Promise<Page<OutboxLine>> {
  if (subjectId === undefined) return toPage(await listEntries(reader, filter), toLine);
  const { statuses, name, kinds } = filter;
  const fits = (entry: ListedEntry): boolean =>
    (statuses.length === 0 || statuses.includes(entry.status)) &&
    (name === undefined || entry.name === name) &&
    (kinds.length === 0 || kinds.includes(entry.kind));
  const entries = await openEntriesOf(reader, subjectId);
  return { items: entries.filter(fits).map(toLine), next: null };
}
