/** `amends list`: one part, the newest first, with filters. Pages are followed until there are as many as were asked for. */
import { ATTENTION_KINDS, type AttentionKind } from "../../attention/item.ts";
import type { AttentionLine, Page, SagaLine } from "../../console/contract.ts";
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
import { Refusal, SOURCE, withApi, type Api } from "../source/api.ts";
import { attentionTable } from "../terminal/attention-table.ts";
import { command, number, text, type Command } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import type { Column } from "../terminal/grid.ts";
import { ink, paint, type Ink } from "../terminal/ink.ts";
import { nearest } from "../program/nearest.ts";
import type { Output } from "../terminal/output.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { tickText } from "../terminal/ticks.ts";
import { ago, entryState, span, state } from "../terminal/words.ts";

interface Filter {
  readonly statuses: readonly string[];
  readonly name: string | undefined;
  /** Of sagas: only those that changed at this instant or later, before this one, with these attributes, with this error. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly attributes: string | undefined;
  readonly error: string | undefined;
}

interface Listing<Item> {
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

const PAGE = 200;
/** The number of pages that are searched at most if few items match. */
const PAGES_MAX = 10;

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

const LISTINGS: Readonly<Record<string, Listing<never>>> = {
  sagas,
  schedules,
  outbox,
  deliveries,
  subscriptions,
  flows,
  handlers,
  erasures,
  attention,
};
export const LISTED: readonly string[] = Object.keys(LISTINGS);

export const list: Command = command({
  name: "list",
  group: "Look",
  summary: "Lists sagas, or items of another part, newest first; schedules by name.",
  args: [{ name: "PART", summary: `${LISTED.join(", ")}. Default: sagas.`, required: false }],
  options: {
    ...SOURCE,
    status: text("A,B", "Only these states."),
    name: text(
      "NAME",
      "Only this saga, resolver, call, event, subject or kind, a part of a subscription's URL, or the beginning of a schedule's name.",
    ),
    since: text("TIME", "Only sagas that changed at this time or later, such as 2026-11-17T03:00:00Z."),
    until: text("TIME", "Only sagas that changed before this time."),
    attributes: text("A=X,B=Y", "Only sagas with these attributes, such as tenant=acme,tier=2."),
    error: text("LABEL", "Only sagas that failed or stalled with this error."),
    limit: number("N", "How many at most. Default: 20.", 1, 1_000),
    ...JSON_OUT,
  },
  examples: [
    ["amends list", "the newest sagas"],
    ["amends list sagas --status STALLED,FAILED --limit 50", "those that did not complete"],
    [
      "amends list sagas --status STALLED --error RefundsDown --attributes tenant=acme",
      "those of one tenant with one error",
    ],
    ["amends list schedules --status paused", "schedules that do not tick"],
    ["amends list outbox --status abandoned", "abandoned entries"],
    ["amends list subscriptions --status disabled", "endpoints to which nothing is sent"],
    ["amends list handlers --status unserved", "handlers of events that no running worker has"],
    ["amends list erasures --status overdue", "requests of data subjects that are late"],
    ["amends list --since 2026-11-17T03:00:00Z --limit 1000", "sagas that ran after a backup"],
    ["amends list attention --json", "items that need attention, for a program"],
    ["amends list attention --name dead-letter", "one kind of them"],
  ],
  run: async ({ args, options, output, world }) => {
    const part = args[0] ?? "sagas";
    const listing = listingOf(part);
    const statuses = statesOf(listing, options.status);
    const { name, attributes, error } = options;
    const ofSagas = (["since", "until", "attributes", "error"] as const).find(
      (key) => options[key] !== undefined,
    );
    if (part !== "sagas" && ofSagas !== undefined) throw new UsageError(`--${ofSagas} is for sagas.`, "list");
    const [since, until] = [instantOf("since", options.since), instantOf("until", options.until)];
    const filter = { statuses, name, since, until, attributes, error };
    return withApi(options, world, async (api) => {
      const found = await collect(api, part, listing, filter, options.limit ?? 20);
      output.document(found);
      if (found.items.length === 0) output.say(paint("dim", "Nothing."));
      else if (listing.draw) listing.draw(output, found.items, world.nowMs());
      else
        output.table(
          listing.columns,
          found.items.map((item) => listing.row(item, world.nowMs())),
        );
      if (found.more) output.say(paint("dim", "There are more: --limit shows them."));
      return 0;
    });
  },
});

function listingOf(part: string): Listing<never> {
  const found = Object.hasOwn(LISTINGS, part) ? LISTINGS[part] : undefined;
  if (found) return found;
  const near = nearest(part, LISTED);
  const hint = near === undefined ? `There are: ${LISTED.join(", ")}.` : `Did you mean ${near}?`;
  throw new UsageError(`There is no part ${JSON.stringify(part)} to list. ${hint}`, "list");
}

/** However they are spelt. */
function statesOf({ states }: Listing<never>, given: string | undefined): readonly string[] {
  if (given === undefined) return [];
  if (states.length === 0)
    throw new UsageError("Attention items have no states: leave --status out.", "list");
  return given.split(",").map((word) => {
    const plain = (spelt: string): string => spelt.toLowerCase().replaceAll(/[^a-z]/g, "");
    const found = states.find((name) => plain(name) === plain(word));
    if (found !== undefined) return found;
    throw new UsageError(
      `There is no state ${JSON.stringify(word)} here. There are: ${states.join(", ")}.`,
      "list",
    );
  });
}

function instantOf(option: "since" | "until", given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const ms = Date.parse(given);
  if (Number.isFinite(ms)) return new Date(ms).toISOString();
  throw new UsageError(
    `--${option} ${JSON.stringify(given)} is no time. Write it like 2026-11-17T03:00:00Z.`,
    "list",
  );
}

async function collect(
  api: Api,
  part: string,
  { path, query, fits }: Listing<never>,
  filter: Filter,
  limit: number,
): Promise<{ readonly items: readonly never[]; readonly more: boolean }> {
  const items: never[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < PAGES_MAX || !fits; pages++) {
    const size = fits ? PAGE : Math.min(PAGE, limit - items.length);
    const page = await readPage(api, part, path, { ...query(filter), limit: size, after });
    items.push(...(fits ? page.items.filter((item) => fits(item, filter)) : page.items));
    if (items.length >= limit)
      return { items: items.slice(0, limit), more: items.length > limit || page.next !== null };
    if (page.next === null) return { items, more: false };
    after = page.next;
  }
  return { items, more: true };
}

/** A console of an older version may lack a part. */
async function readPage(
  api: Api,
  part: string,
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): Promise<Page<never>> {
  try {
    return await api.get(path, query);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404) throw error;
    const message = `The console at ${api.shown} does not have ${part}.`;
    throw new Trouble("NOT_SUPPORTED", message, "Update the amends package there.", { cause: error });
  }
}
