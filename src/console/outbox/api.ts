/** The outbox: lists, one entry, and a fresh budget for what was given up. */
import { isUuid } from "../../core/flow/sealed.ts";
import { OUTBOX_KINDS } from "../../core/outbox/entry.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import type { Outbox } from "../../erasure/remote/outbox.ts";
import { requeueCalls } from "../../outbox/requeue.ts";
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

export type Requeues = Pick<Outbox, "requeue">;

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

const EVENT_ACTIONS = {
  retry: "Gives an event that was given up new tries.",
  resolve:
    "A person is done with an event that was given up; where a run waits for it, its step counts as failed.",
} as const;

export function outboxRoutes(context: ConsoleContext, requeues: Requeues | undefined): readonly Route[] {
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
          requeues !== undefined,
        );
      },
    }),
    route({
      method: "GET",
      path: "/api/outbox/{id}",
      access: "read",
      summary: "One entry of the outbox.",
      answers: "OutboxLine",
      handle: async ({ id }) => toOutboxLine(await rowOf(context, id), requeues !== undefined),
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
          requeue(context, requeues, call.id, note),
        );
        return toOutboxLine(await rowOf(context, call.id), requeues !== undefined);
      },
    }),
    ...(["retry", "resolve"] as const).map((action) =>
      route({
        method: "POST",
        path: `/api/outbox/{id}/${action}`,
        access: "operate",
        summary: EVENT_ACTIONS[action],
        answers: "OutboxLine",
        body: { reason: reason() },
        handle: async (call) => {
          await recorded(context, call, action, "event", async (note) => {
            await rowOf(context, call.id);
            await context.events[action](call.id, note);
          });
          return toOutboxLine(await rowOf(context, call.id), requeues !== undefined);
        },
      }),
    ),
  ];
}

export function entryRevealers(context: ConsoleContext): Revealers {
  return { entry: async (id) => ({ fields: revealEntry(await rowOf(context, id)) }) };
}

async function requeue(
  context: ConsoleContext,
  requeues: Requeues | undefined,
  id: string,
  note: { readonly reason: string; readonly by: string },
): Promise<void> {
  const { kind } = await rowOf(context, id);
  if (kind === "call") return requeueCall(context, id);
  if (!requeues) {
    const message =
      "Erasure is not configured in the console's process. Pass `erasure: { dataMap }` to its `new Amends`.";
    throw new Refused(501, { code: "NOT_CONFIGURED", message });
  }
  const [entry] = await requeues.requeue([id], note);
  if (!entry) throw notAbandoned();
}

/** A call needs nothing but its row: whoever makes it takes it up again. */
async function requeueCall({ db }: ConsoleContext, id: string): Promise<void> {
  const requeuing = requeueCalls([id]);
  const done = await persist(db, () => db.transaction((session) => requeuing.run(session)));
  if (done.length === 0) throw notAbandoned();
}

function notAbandoned(): Refused {
  return new Refused(409, { code: "NOT_ALLOWED_NOW", message: "Only an abandoned entry can be requeued." });
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
