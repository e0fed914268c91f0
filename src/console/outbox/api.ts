/** The outbox: lists, one entry, and a fresh budget for what was given up. */
import { isUuid } from "../../core/flow/sealed.ts";
import { OUTBOX_KINDS } from "../../core/outbox/entry.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import type { Outbox } from "../../erasure/remote/outbox.ts";
import { CallRequeue } from "../../outbox/requeue-calls.ts";
import type { Row } from "../../storage/database.ts";
import { persist } from "../../storage/retry.ts";
import { badInput, notFound, Refused } from "../http/answer.ts";
import type { Revealers } from "../audit/api.ts";
import type { Page } from "../contract.ts";
import type { OutboxLine } from "../contract-parts.ts";
import { recorded, type ConsoleContext } from "../context.ts";
import { revealEntry, toOutboxLine } from "./lines.ts";
import {
  ENTRY_SCAN_MAX,
  listAbandoned,
  listEntries,
  listOpenOf,
  selectEntry,
  type EntryFilter,
} from "./queries.ts";
import { limit, oneOf, reason, someOf, text, type Param } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";

/** What an operator may do to an abandoned entry of the application's outbox. */
export type EntryActions = Pick<Outbox, "requeue" | "resolve">;

/** The id of the last entry of the page before. */
function entryCursor(): Param<string | undefined> {
  const bounded = text(64);
  return {
    schema: { type: "string", description: "The `next` of the page before." },
    required: false,
    read: (value, field) => {
      const given = bounded.read(value, field);
      if (given !== undefined && !isUuid(given))
        throw badInput(field, "must be the `next` of the page before");
      return given;
    },
  };
}

export function outboxRoutes(
  context: ConsoleContext,
  entryActions: EntryActions | undefined,
): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/outbox",
      access: "read",
      summary: "Entries of the outbox, newest first.",
      answers: "Page<OutboxLine>",
      query: {
        status: someOf(outboxMachine.states),
        kind: oneOf(OUTBOX_KINDS),
        subject: text(255),
        resolver: text(255),
        limit: limit(),
        after: entryCursor(),
      },
      handle: async ({ query }) => {
        const { status: statuses, kind, subject: subjectId, resolver, after } = query;
        return pageOf(
          context,
          { statuses, kind, subjectId, resolver, after },
          query.limit,
          entryActions !== undefined,
        );
      },
    }),
    route({
      method: "GET",
      path: "/api/outbox/{id}",
      access: "read",
      summary: "One entry of the outbox.",
      answers: "OutboxLine",
      handle: async ({ id }) => toOutboxLine(await rowOf(context, id), entryActions !== undefined),
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
        return toOutboxLine(await rowOf(context, call.id), entryActions !== undefined);
      },
    }),
    route({
      method: "POST",
      path: "/api/outbox/{id}/retry",
      access: "operate",
      summary: "Gives an event that was given up new attempts.",
      answers: "OutboxLine",
      body: { reason: reason() },
      handle: async (call) => {
        await recorded(context, call, "retry", "event", async (note) => {
          await rowOf(context, call.id);
          await context.amends.events.retry(call.id, note);
        });
        return toOutboxLine(await rowOf(context, call.id), entryActions !== undefined);
      },
    }),
    route({
      method: "POST",
      path: "/api/outbox/{id}/resolve",
      access: "operate",
      summary:
        "Confirms an abandoned erasure or rectification by hand, or settles an event that was given up; a flow that waits for the event counts its step as failed.",
      answers: "OutboxLine",
      body: { reason: reason() },
      handle: async (call) => {
        const isErasure = await isOfKind(context, call.id, "erasure");
        await recorded(context, call, "resolve", isErasure ? "entry" : "event", (note) =>
          isErasure ? resolveErasure(entryActions, call.id, note) : resolveEvent(context, call.id, note),
        );
        return toOutboxLine(await rowOf(context, call.id), entryActions !== undefined);
      },
    }),
  ];
}

export function entryRevealers(context: ConsoleContext): Revealers {
  return { entry: async (id) => ({ fields: revealEntry(await rowOf(context, id)) }) };
}

async function requeue(
  context: ConsoleContext,
  entryActions: EntryActions | undefined,
  id: string,
  note: Note,
): Promise<void> {
  const { kind } = await rowOf(context, id);
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
  await rowOf(context, id);
  await context.amends.events.resolve(id, note);
}

async function isOfKind({ db, query }: ConsoleContext, id: string, kind: string): Promise<boolean> {
  const [row] = isUuid(id) ? await query(selectEntry(db.dialect, id)) : [];
  return row?.["kind"] === kind;
}

function needed(entryActions: EntryActions | undefined): EntryActions {
  if (entryActions) return entryActions;
  const message = "This console has no outbox. Pass it: createConsole(amends, { outbox: erasure.outbox }).";
  throw new Refused(501, { code: "NOT_SUPPORTED", message });
}

/** A call needs nothing but its row: whoever makes it takes it up again. */
async function requeueCall({ db }: ConsoleContext, id: string): Promise<void> {
  const requeuing = new CallRequeue([id]);
  const done = await persist(db, () => db.transaction((session) => requeuing.run(session)));
  if (done.length === 0) throw notAbandoned("requeued");
}

function notAbandoned(what: "requeued" | "resolved"): Refused {
  return new Refused(409, { code: "NOT_ALLOWED_NOW", message: `Only an abandoned entry can be ${what}.` });
}

async function rowOf({ db, query }: ConsoleContext, id: string): Promise<Row> {
  const [row] = isUuid(id) ? await query(selectEntry(db.dialect, id)) : [];
  if (!row) throw notFound("entry with this id");
  return row;
}

async function pageOf(
  { db: { dialect }, query }: ConsoleContext,
  filter: EntryFilter,
  max: number,
  canRequeue: boolean,
): Promise<Page<OutboxLine>> {
  const toPage = (rows: readonly Row[]): Page<OutboxLine> => ({
    items: rows.slice(0, max).map((row) => toOutboxLine(row, canRequeue)),
    next: rows.length > max ? (rows[max - 1]?.["entry_id"] as string) : null,
  });
  const { statuses, kind, subjectId, resolver, after } = filter;
  if (subjectId !== undefined) {
    const rows = await query(listOpenOf(dialect, subjectId, ENTRY_SCAN_MAX));
    const fits = ({ status, name, kind: of }: OutboxLine): boolean =>
      (statuses.length === 0 || statuses.includes(status)) &&
      (resolver === undefined || name === resolver) &&
      (kind === undefined || of === kind);
    return { items: rows.map((row) => toOutboxLine(row, canRequeue)).filter(fits), next: null };
  }
  if (statuses.length === 1 && statuses[0] === "abandoned" && resolver === undefined) {
    return toPage(
      await query(listAbandoned(dialect, kind === undefined ? OUTBOX_KINDS : [kind], after, max + 1)),
    );
  }
  const rows = await query(listEntries(dialect, filter, max + 1));
  const edge = rows.find((row) => Number(row["edge"]) === 1);
  const found = toPage(rows.filter((row) => row !== edge));
  if (found.next !== null || !edge || Number(edge["looked"]) < ENTRY_SCAN_MAX) return found;
  // There is more to look through: the next page goes on where this one stopped looking.
  return { items: found.items, next: edge["entry_id"] as string };
}
