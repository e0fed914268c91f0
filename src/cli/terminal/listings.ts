/** What `amends list` asks for of each part, and its table. */
import { ATTENTION_KINDS, type AttentionKind } from "../../attention/item.ts";
import type { AttentionLine, SagaLine } from "../../console/contract.ts";
import type {
  DeliveryLine,
  ErasureLine,
  FlowLine,
  HandlerLine,
  OutboxLine,
  ScheduleLine,
  Subscription,
} from "../../console/contract-parts.ts";
import { deliveryMachine, subscriptionMachine } from "../../core/delivery/machine.ts";
import { flowMachine } from "../../core/flow/machine.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import { attributePairs } from "../../core/start/attribute-pairs.ts";
import { attentionTable } from "./attention-table.ts";
import type { Column } from "./grid.ts";
import { ink, paint, type Ink } from "./ink.ts";
import type { Output } from "./output.ts";
import { pausedListing } from "./paused-listing.ts";
import { tickText } from "./ticks.ts";
import { ago, entryState, span, state } from "./words.ts";

export interface Filter {
  readonly statuses: readonly string[];
  readonly name: string | undefined;
  /** Of sagas: only those that changed at this instant or later, before this one, with these attributes, with this error. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly attributes: string | undefined;
  readonly error: string | undefined;
}

export interface Listing<Item> {
  readonly path: string;
  readonly states: readonly string[];
  readonly query: (filter: Filter) => Readonly<Record<string, string | undefined>>;
  /** For what the API cannot filter by. */
  readonly fits?: (item: Item, filter: Filter) => boolean;
  readonly columns: readonly Column[];
  row(item: Item, nowMs: number): readonly Ink[];
  /** Takes the place of columns and row. */
  draw?(output: Output, items: readonly Item[], nowMs: number): void;
}

const sagas: Listing<SagaLine> = {
  path: "/api/sagas",
  states: sagaMachine.states,
  query: ({ statuses, name, since, until, attributes, error }) => ({
    status: statuses.join(",") || undefined,
    name,
    from: since,
    to: until,
    attributes,
    error,
  }),
  columns: [
    { title: "STATUS" },
    { title: "NAME", least: 8 },
    { title: "ID" },
    { title: "CHANGED" },
    { title: "TOOK" },
    { title: "ATTRIBUTES", least: 10 },
    { title: "LAST ERROR", least: 10 },
  ],
  row: ({ status, saga, id, updatedAt, durationMs, isScheduled, runAt, attributes, lastError }, nowMs) => [
    state(status),
    ink`${saga}`,
    ink`${id}`,
    ink`${ago(updatedAt, nowMs)}`,
    isScheduled && runAt !== null ? paint("dim", `runs ${ago(runAt, nowMs)}`) : ink`${span(durationMs)}`,
    paint("dim", attributePairs(attributes).join(", ")),
    ink`${lastError ?? ""}`,
  ],
};

const schedules: Listing<ScheduleLine> = {
  path: "/api/schedules",
  states: ["active", "paused"],
  query: ({ statuses, name }) => ({ status: statuses.length === 1 ? statuses[0] : undefined, q: name }),
  columns: [
    { title: "STATUS" },
    { title: "NAME" },
    { title: "CRON" },
    { title: "TIME ZONE" },
    { title: "NEXT" },
    { title: "LAST TICK", least: 12 },
    { title: "SAGA", least: 8 },
  ],
  row: ({ status, id, cron, timezone, next, last, saga, version }, nowMs) => [
    state(status),
    ink`${id}`,
    ink`${cron}`,
    ink`${timezone}`,
    ink`${next === null ? "" : ago(next.beginsAt, nowMs)}`,
    last === null ? paint("dim", "none yet") : tickText(last, nowMs),
    ink`${saga}@${version}`,
  ],
};

const outbox: Listing<OutboxLine> = {
  path: "/api/outbox",
  states: outboxMachine.states,
  query: ({ statuses, name }) => ({ status: statuses.join(",") || undefined, resolver: name }),
  columns: [
    { title: "STATUS" },
    { title: "KIND" },
    { title: "NAME", least: 8 },
    { title: "ID" },
    { title: "TRIES", right: true },
    { title: "SINCE" },
    { title: "LAST ERROR", least: 8 },
  ],
  row: ({ status, kind, name, id, attempts, enqueuedAt, lastError }, nowMs) => [
    entryState(kind, status),
    ink`${kind}`,
    ink`${name}`,
    ink`${id}`,
    ink`${attempts}`,
    ink`${ago(enqueuedAt, nowMs)}`,
    ink`${lastError ?? ""}`,
  ],
};

const flows: Listing<FlowLine> = {
  path: "/api/flows",
  states: flowMachine.states,
  query: ({ statuses, name }) => ({ status: statuses.join(",") || undefined, type: name }),
  columns: [
    { title: "STATUS" },
    { title: "TYPE", least: 8 },
    { title: "PROCESS", least: 8 },
    { title: "ID" },
    { title: "STEP", least: 8 },
    { title: "CHANGED" },
  ],
  row: ({ status, type, processId, id, currentStep, updatedAt }, nowMs) => [
    state(status),
    ink`${type}`,
    ink`${processId}`,
    ink`${id}`,
    ink`${currentStep ?? ""}`,
    ink`${ago(updatedAt, nowMs)}`,
  ],
};

const deliveries: Listing<DeliveryLine> = {
  path: "/api/webhooks/deliveries",
  states: deliveryMachine.states,
  // One state can be asked for; of several, each that comes is looked at.
  query: ({ statuses }) => ({ status: statuses.length === 1 ? statuses[0] : undefined }),
  fits: ({ status, eventType }, { statuses, name }) =>
    (statuses.length === 0 || statuses.includes(status)) && (name === undefined || eventType === name),
  columns: [
    { title: "STATUS" },
    { title: "EVENT", least: 8 },
    { title: "ID", right: true },
    { title: "TRIES", right: true },
    { title: "CHANGED" },
    { title: "TO", least: 12 },
    { title: "LAST ERROR", least: 8 },
  ],
  row: ({ status, eventType, id, attemptCount, updatedAt, url, errorCode }, nowMs) => [
    state(status),
    ink`${eventType}`,
    ink`${id}`,
    ink`${attemptCount}`,
    ink`${ago(updatedAt, nowMs)}`,
    ink`${url}`,
    ink`${errorCode ?? ""}`,
  ],
};

const subscriptions: Listing<Subscription> = {
  path: "/api/webhooks/subscriptions",
  states: subscriptionMachine.states,
  query: ({ statuses, name }) => ({ status: statuses.length === 1 ? statuses[0] : undefined, q: name }),
  fits: ({ status }, { statuses }) => statuses.length === 0 || statuses.includes(status),
  columns: [
    { title: "STATUS" },
    { title: "ID", right: true },
    { title: "TO", least: 12 },
    { title: "EVENTS", least: 8 },
    { title: "CHANGED" },
    { title: "WHY", least: 8 },
  ],
  row: ({ status, id, url, events, updatedAt, reason }, nowMs) => [
    state(status),
    ink`${id}`,
    ink`${url}`,
    ink`${events.join(", ")}`,
    ink`${ago(updatedAt, nowMs)}`,
    ink`${reason ?? ""}`,
  ],
};

const erasures: Listing<ErasureLine> = {
  path: "/api/erasures",
  states: ["open", "overdue", "completed"],
  query: ({ statuses, name }) => ({ status: statuses.length === 1 ? statuses[0] : undefined, q: name }),
  fits: (line, { statuses }) =>
    statuses.length === 0 ||
    statuses.includes(erasureState(line)) ||
    (line.overdue && statuses.includes("open")),
  columns: [
    { title: "STATUS" },
    { title: "REQUEST" },
    { title: "SUBJECT" },
    { title: "REQUESTED" },
    { title: "DUE" },
    { title: "OPEN", right: true },
    { title: "ABANDONED", right: true },
  ],
  row: (line, nowMs) => [
    state(erasureState(line)),
    ink`${line.operation}`,
    ink`${line.subjectId}`,
    ink`${ago(line.requestedAt, nowMs)}`,
    ink`${line.completedAt === null ? ago(line.dueBy, nowMs) : ""}`,
    ink`${line.open}`,
    ink`${line.abandoned}`,
  ],
};

function erasureState({ completedAt, overdue }: ErasureLine): string {
  if (completedAt !== null) return "completed";
  return overdue ? "overdue" : "open";
}

const handlers: Listing<HandlerLine> = {
  path: "/api/handlers",
  states: ["served", "unserved", "retired"],
  query: () => ({}),
  fits: ({ status, id, event }, { statuses, name }) =>
    (statuses.length === 0 || statuses.includes(status)) &&
    (name === undefined || id === name || event === name),
  columns: [
    { title: "STATUS" },
    { title: "HANDLER", least: 8 },
    { title: "EVENT", least: 8 },
    { title: "SAGA", least: 8 },
    { title: "WAITING", right: true },
    { title: "HEARD" },
  ],
  row: ({ status, id, event, version, saga, step, backlog, seenAt }, nowMs) => [
    state(status),
    ink`${id}`,
    ink`${event}@${version}`,
    ink`${saga === null ? "" : `${saga}.${step ?? ""}`}`,
    ink`${backlog}`,
    ink`${ago(seenAt, nowMs)}`,
  ],
};

const attention: Listing<AttentionLine> = {
  path: "/api/attention",
  states: [],
  // The API filters by kind; by name, each item that comes is looked at.
  query: ({ name }) => ({ kind: isKind(name) ? name : undefined }),
  fits: (item, { name }) => name === undefined || isKind(name) || item.name === name,
  columns: [],
  row: () => [],
  draw: attentionTable,
};

function isKind(name: string | undefined): boolean {
  return ATTENTION_KINDS.includes(name as AttentionKind);
}

export const LISTINGS: Readonly<Record<string, Listing<never>>> = {
  sagas,
  schedules,
  outbox,
  deliveries,
  subscriptions,
  flows,
  handlers,
  erasures,
  attention,
  paused: pausedListing,
};
export const LISTED: readonly string[] = Object.keys(LISTINGS);
