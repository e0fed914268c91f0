/** What operators see of registered handlers, and the end of a subscription that no process serves any more. */
import { AmendsError } from "../../core/errors.ts";
import { findAwaited, supersedeOpen } from "../../outbox/deliveries/handler-queries.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { sourceOf, type Source } from "../../storage/read/selection.ts";
import {
  listSubscriptions,
  retireSubscriptions,
  selectSubscriptions,
  SERVED_MS,
  SUBSCRIPTION,
  unservedRows,
  type StoredSubscription,
} from "./operator-queries.ts";

/** A handler that a worker has registered for an event. */
export interface EventSubscription {
  /** The name of the handler or consumer. */
  readonly handler: string;
  /** The type of the event that it takes. */
  readonly event: string;
  /** The newest version of the event that a registered process can read. */
  readonly version: number;
  /** The saga over events whose step, or whose undo, it does; undefined for any other handler. */
  readonly saga: string | undefined;
  /** The step of that saga. */
  readonly step: string | undefined;
  /** `served`: a running worker has it. `unserved`: none has, and its events wait. `retired`: it gets no further events. */
  readonly status: "served" | "unserved" | "retired";
  /** Since when it gets the events. */
  readonly registeredAt: Date;
  /** When a worker that has it was last heard of. */
  readonly seenAt: Date;
  /** The number of deliveries and unrouted events that wait for it, at most 1,000. */
  readonly backlog: number;
}

/** What `retire` has done. */
export interface RetiredHandler {
  /** The number of deliveries that nobody handles any more. They are kept as superseded. */
  readonly superseded: number;
}

const BACKLOG_MAX = 1_000;
const LIST_MAX = 10_000;
const BATCH = 1_000;

function toSubscription(row: StoredSubscription): EventSubscription {
  const { handler, event, version, saga, step, retiredAt, registeredAt, seenAt, nowAt, backlog } = row;
  const isServed = nowAt - seenAt < SERVED_MS;
  const status = retiredAt === undefined ? (isServed ? "served" : "unserved") : "retired";
  const [registered, seen] = [new Date(registeredAt), new Date(seenAt)];
  const count = Math.min(backlog, BACKLOG_MAX);
  return {
    handler,
    event,
    version,
    saga,
    step,
    status,
    registeredAt: registered,
    seenAt: seen,
    backlog: count,
  };
}

/** Registered handlers without a process for which something waits. */
export const unservedHandlers: Source<EventSubscription> = sourceOf(unservedRows, (row) =>
  toSubscription(SUBSCRIPTION.read(row)),
);

/** Every handler that was ever registered, by its name. */
export async function listHandlers(reader: Reader): Promise<readonly EventSubscription[]> {
  const rows = await reader.query(listSubscriptions(reader.dialect, BACKLOG_MAX, LIST_MAX));
  return rows.map((row) => toSubscription(SUBSCRIPTION.read(row)));
}

/** The subscriptions of one handler. */
export async function readHandler(reader: Reader, handler: string): Promise<readonly EventSubscription[]> {
  const rows = await reader.query(selectSubscriptions(reader.dialect, handler, BACKLOG_MAX));
  return rows.map((row) => toSubscription(SUBSCRIPTION.read(row)));
}

/**
 * Ends the subscriptions of a handler and supersedes what waits for it, so often as needed: another process may have read the
 * table before the end. Refused while a worker has the handler, or a run waits for it.
 */
export async function retireHandler(reader: Reader, handler: string, note: string): Promise<RetiredHandler> {
  const { dialect } = reader;
  const rows = await reader.query(selectSubscriptions(dialect, handler, 1));
  const found = rows.map((row) => SUBSCRIPTION.read(row));
  if (found.length === 0) {
    throw new AmendsError(
      "NOT_ALLOWED_NOW",
      `No handler named ${handler} is registered. \`amends list handlers\` shows those that are.`,
      { handler },
    );
  }
  for (const { kind, saga, recipient } of found) {
    if (kind !== "step" && kind !== "undo") continue;
    if ((await reader.query(findAwaited(dialect, handler, recipient))).length === 0) continue;
    throw new AmendsError(
      "NOT_ALLOWED_NOW",
      `A run of saga ${saga ?? ""} waits for handler ${handler}. Run a worker that has the saga until its runs have ended.`,
      { handler },
    );
  }
  if ((await reader.query(retireSubscriptions(dialect, handler, note))).length < found.length) {
    throw new AmendsError(
      "NOT_ALLOWED_NOW",
      `A running worker has handler ${handler}. Remove it from the code of every process, and retire it a minute after the last of them has stopped.`,
      { handler },
    );
  }
  let superseded = 0;
  for (const { event, recipient } of found) {
    for (let last = BATCH; last === BATCH;) {
      last = (await reader.query(supersedeOpen(dialect, recipient, event, BATCH))).length;
      superseded += last;
    }
  }
  return { superseded };
}
