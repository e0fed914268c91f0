/**
 * `amends bulk`: one action on many items. The command shows how many there are and asks before it starts; a worker carries the action
 * out, and `amends bulk show` says how far it is.
 */
import { setTimeout as pause } from "node:timers/promises";
import type {
  BulkDetail,
  BulkFilterLine,
  BulkItemsGiven,
  BulkLine,
  BulkPreview,
} from "../../console/contract-bulk.ts";
import type { Page } from "../../console/contract.ts";
import { BULK_ACTIONS, type BulkAction } from "../../core/bulk/action.ts";
import { attributePairs } from "../../core/start/attribute-pairs.ts";
import { command, flag, number, text, type Command } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import { JSON_OUT, NOTE } from "../program/shared-options.ts";
import { instantOf } from "../program/time-option.ts";
import type { World } from "../program/world.ts";
import { SOURCE, withApi, type Api } from "../source/api.ts";
import { ink, paint, type Ink } from "../terminal/ink.ts";
import type { Output } from "../terminal/output.ts";
import { ago, many, state } from "../terminal/words.ts";

const VERBS = [...BULK_ACTIONS, "list", "show", "stop", "repeat"] as const;

const ITEMS = {
  saga: text("NAME", "Sagas: only those with this name."),
  status: text("STATE", "Only items in this state, or in one of several with commas between."),
  attributes: text("A=X,B=Y", "Sagas: only those with these attributes."),
  error: text("LABEL", "Only items whose last error has this label."),
  since: text("TIME", "Only items since this time, such as 2026-11-17T03:00:00Z."),
  until: text("TIME", "Only items before this time."),
  kind: text("KIND", "requeue: what the entries are. Default: call.", ["call", "erasure"]),
  name: text("NAME", "requeue: only entries of this call or resolver."),
  subscription: text("ID", "resend: only deliveries to this subscription."),
  ids: text("ID,ID", "These items instead of filters."),
  step: text("STEP", "skip: the step whose work was done by hand."),
  result: text("JSON", "skip, after the pivot: the result that its act would have returned."),
  as: text("END", "resolve: how the sagas end.", ["COMPLETED", "FAILED"]),
  "pivot-did-not-happen": flag("cancel: you have made sure that the pivot of these sagas did not happen."),
} as const;

interface Given {
  readonly saga: string | undefined;
  readonly status: string | undefined;
  readonly attributes: string | undefined;
  readonly error: string | undefined;
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly kind: string | undefined;
  readonly name: string | undefined;
  readonly subscription: string | undefined;
  readonly ids: string | undefined;
  readonly step: string | undefined;
  readonly result: string | undefined;
  readonly as: string | undefined;
  readonly "pivot-did-not-happen": boolean;
  readonly reason: string | undefined;
  readonly id: string | undefined;
  readonly yes: boolean;
}

export const bulk: Command = command({
  name: "bulk",
  group: "Steer",
  summary: "Acts on many sagas, outbox entries or deliveries at once, in the background.",
  about:
    "retry, cancel, skip and resolve take sagas; requeue takes abandoned outbox entries; resend takes dead deliveries. The command counts the items and asks before it starts; --yes starts without asking. A worker carries the action out, 50 items at a time; each is recorded with the reason, and one that is refused does not stop the others.",
  args: [
    { name: "ACTION", summary: `${VERBS.join(", ")}.`, required: true },
    { name: "ID", summary: "show, stop, repeat: the id of a bulk action.", required: false },
  ],
  options: {
    ...SOURCE,
    ...NOTE,
    ...ITEMS,
    id: text("ID", "An id for the bulk action: the same command again is the same action."),
    yes: flag("Starts without asking."),
    follow: flag("show: prints the progress until the action is over."),
    limit: number("N", "list: how many. Default: 20.", 1, 200),
    ...JSON_OUT,
  },
  examples: [
    [
      'amends bulk retry --saga place-order --status STALLED --reason "the bank is back"',
      "shows how many, and asks",
    ],
    [
      'amends bulk requeue --name send-mail --error TypeError --reason "fixed in 2.1" --yes',
      "abandoned calls",
    ],
    ['amends bulk resend --subscription 3 --reason "their server is back" --yes', "dead deliveries"],
    ["amends bulk show 0190a3f2-… --follow", "its progress"],
    ['amends bulk stop 0190a3f2-… --reason "the bank is down again"', "after the page under way"],
  ],
  run: async ({ args, options, output, world }) => {
    const verb = VERBS.find((name) => name === args[0]);
    if (verb === undefined)
      throw new UsageError(
        `There is no bulk action ${JSON.stringify(args[0])}. There are: ${VERBS.join(", ")}.`,
        "bulk",
      );
    const path = (): string => {
      if (args[1] === undefined) throw new UsageError(`Name the bulk action: amends bulk ${verb} ID`, "bulk");
      return `/api/bulk/${encodeURIComponent(args[1])}`;
    };
    return withApi(options, world, async (api) => {
      switch (verb) {
        case "list": {
          const page = await api.get<Page<BulkLine>>("/api/bulk", { limit: options.limit ?? 20 });
          output.document({ items: page.items, more: page.next !== null });
          drawList(output, page.items, world.nowMs());
          break;
        }
        case "show":
          await show(api, path(), options.follow, output, world);
          break;
        case "stop":
        case "repeat": {
          const detail = await api.post<BulkDetail>(`${path()}/${verb}`, {
            reason: reasonOf(options),
            ...(verb === "repeat" && options.id !== undefined && { id: options.id }),
          });
          output.document(detail);
          drawDetail(output, detail);
          break;
        }
        default:
          if (args[1] !== undefined) throw new UsageError("Pass ids with --ids ID,ID.", "bulk");
          await start(api, verb, options, output, world);
      }
      return 0;
    });
  },
});

function reasonOf({ reason }: { readonly reason: string | undefined }): string {
  if (reason !== undefined && reason.trim() !== "") return reason;
  throw new UsageError(`A reason is required: --reason "…". It is recorded in the audit trail.`, "bulk");
}

async function start(
  api: Api,
  action: BulkAction,
  options: Given,
  output: Output,
  world: World,
): Promise<void> {
  const reason = reasonOf(options);
  const items = itemsOf(action, options);
  if (!options.yes) {
    const preview = await api.post<BulkPreview>("/api/bulk/preview", items);
    const count = `${many(preview.count, "item")}${preview.exact ? "" : " or more"}`;
    const sample =
      preview.sample.length === 0
        ? ""
        : `: ${preview.sample.join(", ")}${preview.count > preview.sample.length ? ", …" : ""}`;
    output.note(ink`${paint("bold", `${action}: ${count}`)}${sample}`);
    if (!(await isConfirmed(world, output, `${action} ${count}?`))) {
      output.document({ started: false, ...preview });
      output.say(ink`Nothing was started.`);
      return;
    }
  }
  const detail = await api.post<BulkDetail>("/api/bulk", {
    ...items,
    reason,
    ...(options.id !== undefined && { id: options.id }),
  });
  output.document(detail);
  drawDetail(output, detail);
  output.say(paint("dim", `A worker carries it out. To follow it: amends bulk show ${detail.id} --follow`));
}

async function isConfirmed(world: World, output: Output, question: string): Promise<boolean> {
  if (world.ask && !output.isJson) return /^y(?:es)?$/i.test((await world.ask(`${question} [y/N] `)).trim());
  throw new Trouble(
    "NOT_CONFIRMED",
    "Nothing was started: there is no terminal to ask at.",
    "Add --yes to start it.",
  );
}

function itemsOf(action: BulkAction, given: Given): BulkItemsGiven {
  const { saga, status, attributes, error, kind, name, subscription, ids, step, result, as } = given;
  const since = instantOf("since", given.since, "bulk");
  const until = instantOf("until", given.until, "bulk");
  const all = {
    action,
    saga,
    status,
    attributes,
    error,
    since,
    until,
    kind,
    name,
    subscription,
    ids: ids?.split(",").map((id) => id.trim()),
    step,
    result: result === undefined ? undefined : readJson(result),
    as,
    pivotDidNotHappen: given["pivot-did-not-happen"] ? true : undefined,
  };
  const said = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said) as unknown as BulkItemsGiven;
}

function readJson(given: string): unknown {
  try {
    return JSON.parse(given) as unknown;
  } catch {
    throw new UsageError("--result must be JSON.", "bulk");
  }
}

const FOLLOW_MS = 500;

async function show(
  api: Api,
  path: string,
  isFollowed: boolean,
  output: Output,
  world: World,
): Promise<void> {
  let detail = await api.get<BulkDetail>(path);
  for (let said = ""; isFollowed && detail.endedAt === null && !world.stop.aborted;) {
    const progress = progressOf(detail);
    if (progress !== said) output.note(paint("dim", progress));
    said = progress;
    await pause(FOLLOW_MS, undefined, { signal: world.stop }).catch(() => undefined);
    detail = await api.get<BulkDetail>(path);
  }
  output.document(detail);
  drawDetail(output, detail);
}

function progressOf({ done, refused, total, exact }: BulkLine): string {
  const all = exact ? total.toLocaleString("en") : `${total.toLocaleString("en")} or more`;
  return `${(done + refused).toLocaleString("en")} of ${all}, ${refused.toLocaleString("en")} refused`;
}

function filterWords({ filter, kind, total }: BulkLine): string {
  if (!filter) return many(total, "id");
  const { attributes, status, ...rest }: BulkFilterLine = filter;
  const words = Object.entries(rest).map(([name, value]) => `${name} ${value}`);
  if (status) words.unshift(status.join(", "));
  if (attributes) words.push(...attributePairs(attributes));
  return words.length === 0 ? `all of kind ${kind}` : words.join(", ");
}

const COLUMNS = [
  { title: "STATUS" },
  { title: "ACTION" },
  { title: "ITEMS", least: 8 },
  { title: "PROGRESS" },
  { title: "ID" },
  { title: "STARTED" },
  { title: "REASON", least: 10 },
];

function drawList(output: Output, items: readonly BulkLine[], nowMs: number): void {
  if (items.length === 0) return output.say(paint("dim", "Nothing."));
  const row = (line: BulkLine): readonly Ink[] => [
    state(line.status),
    ink`${line.action}`,
    ink`${filterWords(line)}`,
    ink`${progressOf(line)}`,
    ink`${line.id}`,
    ink`${ago(line.createdAt, nowMs)}`,
    ink`${line.reason}`,
  ];
  output.table(COLUMNS, items.map(row));
}

function drawDetail(output: Output, detail: BulkDetail): void {
  output.say(ink`${paint("bold", `bulk ${detail.action}`)} ${detail.id} is ${state(detail.status)}`);
  output.say(ink`  items     ${filterWords(detail)}`);
  output.say(ink`  progress  ${progressOf(detail)}`);
  output.say(ink`  reason    ${detail.reason}${detail.by === null ? "" : ` (${detail.by})`}`);
  const { stop, refusals, refused } = detail;
  if (stop) output.say(ink`  stopped   ${stop.reason}${stop.by === null ? "" : ` (${stop.by})`}`);
  if (refusals.length === 0) return;
  output.say(ink`  refused`);
  for (const { id, code } of refusals) output.say(ink`    ${id}  ${paint("yellow", code)}`);
  if (refused > refusals.length) output.say(paint("dim", `    and ${refused - refusals.length} more`));
}
