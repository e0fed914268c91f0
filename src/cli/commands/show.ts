/** `amends show ID`: one saga with its timeline, or a flow, an entry, a delivery. */
import type { Revealed, SagaDetail, Shape, ShapeFields } from "../../console/contract.ts";
import type {
  DeliveryDetail,
  FlowDetail,
  HeldLine,
  OutboxLine,
  RelatedLine,
  SagaFamily,
  SagaPauseLine,
  SagaWait,
  ScheduleDetail,
  Subscription,
} from "../../console/contract-parts.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import { attributePairs } from "../../core/start/attribute-pairs.ts";
import { SOURCE, withApi, type Api } from "../source/api.ts";
import { command, flag, text, type Command } from "../program/command.ts";
import { UsageError } from "../program/failure.ts";
import { find, KIND, type Found } from "../source/find.ts";
import { ink, paint, type Ink } from "../terminal/ink.ts";
import type { Output } from "../terminal/output.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { nextText, ticksTable } from "../terminal/ticks.ts";
import { timeline } from "../terminal/timeline.ts";
import { visibleJson } from "../terminal/visible.ts";
import { ago, entryState, many, span, state } from "../terminal/words.ts";

export const show: Command = command({
  name: "show",
  group: "Look",
  summary:
    "Shows a saga with its timeline, a schedule with its ticks, or a flow, an outbox entry or a delivery.",
  about:
    "Stored values may be personal data, so only their types are shown. --reveal shows them, and is audited.",
  args: [
    {
      name: "ID",
      summary: "The id of a saga, flow, outbox entry or delivery, or the name of a schedule.",
      required: true,
    },
  ],
  options: {
    ...SOURCE,
    ...KIND,
    reveal: flag("Shows stored values. Needs --reason."),
    reason: text("TEXT", "Why values are revealed. Recorded in the audit trail."),
    ...JSON_OUT,
  },
  examples: [
    ["amends show order-1", "its state, its timeline and the allowed actions"],
    ["amends show nightly-invoices", "a schedule with its next and its last ticks"],
    ["amends show 17 --kind delivery", "a webhook's delivery with its attempts"],
    ['amends show order-1 --reveal --reason "ticket 12"', "with its input and results"],
  ],
  run: async ({ args, options, output, world }) => {
    if (options.reveal && options.reason === undefined)
      throw new UsageError('--reveal needs a reason: --reason "…". It is audited.', "show");
    return withApi(options, world, async (api) => {
      const found = await find(api, args[0] as string, options.kind);
      const revealed = options.reveal ? await reveal(api, found, options.reason as string) : undefined;
      output.document({ what: found.kind, ...found.detail, ...(revealed && { revealed: revealed.fields }) });
      draw(output, found, world.nowMs());
      if (revealed)
        for (const line of visibleJson(revealed.fields, 2).split("\n")) output.say(ink`  ${line}`);
      return 0;
    });
  },
});

async function reveal(api: Api, { kind, detail }: Found, reason: string): Promise<Revealed> {
  return api.post("/api/reveal", { kind, id: detail.id, reason });
}

function draw(output: Output, found: Found, nowMs: number): void {
  switch (found.kind) {
    case "saga":
      return drawSaga(output, found.detail, nowMs);
    case "schedule":
      return drawSchedule(output, found.detail, nowMs);
    case "flow":
      return drawFlow(output, found.detail, nowMs);
    case "entry":
      return drawEntry(output, found.detail, nowMs);
    case "delivery":
      return drawDelivery(output, found.detail, nowMs);
    default:
      return drawSubscription(output, found.detail, nowMs);
  }
}

/** `ship: ` for the last act that failed, if it failed with the saga's error: a deadline or a cancellation has no step. */
function failedStep({ timeline: lines, error }: SagaDetail): string {
  const failed = lines.findLast(
    ({ kind, action, status }) => kind === "step" && action === "act" && status === "FAILED",
  );
  return failed && error && failed.note?.includes(error.label) === true ? `${failed.name}: ` : "";
}

export function drawSaga(output: Output, saga: SagaDetail, nowMs: number): void {
  const isOver = sagaMachine.isTerminal(saga.status);
  output.say(ink`${state(saga.status)}  ${paint("bold", saga.saga)}  ${saga.id}`);
  fact(output, saga.isScheduled ? "recorded" : "began", `${ago(saga.createdAt, nowMs)} (${saga.createdAt})`);
  if (isOver) fact(output, "took", span(saga.durationMs));
  const progress = isOver ? undefined : progressFact(saga, nowMs);
  if (progress) fact(output, ...progress);
  for (const { step, action, value, at } of saga.progress) {
    const of = action === "act" ? step : `undo ${step}`;
    fact(output, "reported", `${of}: ${shapeText(value.shape)} (${ago(at, nowMs)})`);
  }
  if (saga.priority > 0) fact(output, "priority", String(saga.priority));
  const attributes = attributePairs(saga.attributes);
  if (attributes.length > 0) fact(output, "attributes", attributes.join(", "));
  if (saga.recoveries > 0) fact(output, "recovered", `${many(saga.recoveries, "time")} after a crash`);
  fact(output, "steps", stepsText(saga));
  fact(output, "input", shapeText(saga.input.shape));
  if (saga.error)
    fact(output, "failed", ink`${failedStep(saga)}${paint("red", saga.error.label)} (${saga.error.kind})`);
  for (const { step, label, kind } of saga.undoErrors)
    fact(output, "undo failed", ink`${step}: ${paint("red", label)} (${kind})`);
  if (saga.stalled !== null) fact(output, "stalled", paint("red", saga.stalled));
  if (saga.paused) fact(output, "paused", pauseText(saga.paused, saga.saga, nowMs));
  for (const [title, words] of familyFacts(saga.family)) fact(output, title, words);
  output.say();
  const isAtRest = isOver || saga.status === "STALLED";
  const at = { nowMs, isAtRest, waitingStep: saga.waiting?.step, isLeased: saga.owner !== null };
  for (const line of timeline(saga.timeline, at, output.width)) output.say(line);
  const resumes = saga.isPaused && !isOver ? ["resume"] : [];
  helps(output, saga.id, [...resumes, ...saga.actions], {
    skip: saga.skippable.map((step) => ` --step ${quoted(step)}`),
    resolve: [" --as FAILED"],
  });
}

/** `child  ship: o-1:ship, COMPLETED` */
function familyFacts({
  parent,
  children,
  reverses,
  reversedBy,
}: SagaFamily): readonly (readonly [string, Ink])[] {
  const related = ({ id, status, step }: RelatedLine): Ink =>
    ink`${step === null ? "" : `${step}: `}${id}, ${state(status)}`;
  return [
    ...(parent ? [["parent", ink`${parent.id}, at its step ${parent.step}`] as const] : []),
    ...children.map((child) => ["child", related(child)] as const),
    ...(reverses === null ? [] : [["takes back", ink`${reverses}`] as const]),
    ...(reversedBy ? [["taken back", ink`by ${related(reversedBy)}`] as const] : []),
  ];
}

function pauseText({ kind, since, by, reason }: SagaPauseLine, name: string, nowMs: number): string {
  const what = kind === "id" ? "" : `, as all sagas ${name}`;
  return `${ago(since, nowMs)} by ${by ?? "unknown"}${what}: ${reason}`;
}

/** What an open saga waits for: its worker, its signal, event or time, or its next try. */
function progressFact(
  { owner, dueAt, waiting, isScheduled, heldBy }: SagaDetail,
  nowMs: number,
): readonly [string, string] | undefined {
  if (isScheduled && dueAt !== null) return ["scheduled", `${ago(dueAt, nowMs)} (${dueAt})`];
  if (owner !== null) return ["worker", dueAt === null ? owner : `${owner}, ${leaseText(dueAt, nowMs)}`];
  if (heldBy.length > 0)
    return ["waits for", `its limit: ${heldBy.map((one) => heldText(one, nowMs)).join("; ")}`];
  if (waiting !== null) return ["waits for", waitText(waiting, nowMs)];
  return dueAt === null ? undefined : ["due", ago(dueAt, nowMs)];
}

function leaseText(endsAt: string, nowMs: number): string {
  if (Date.parse(endsAt) <= nowMs) return `lease ended ${ago(endsAt, nowMs)}: another worker takes over`;
  return `lease ends ${ago(endsAt, nowMs)}: if this worker is gone, another one takes over then`;
}

/** `concurrency, 5 of 5 run` or `rate, 100 of 100 have begun, the next begins in 12 s` */
function heldText({ kind, limit, used, until }: HeldLine, nowMs: number): string {
  if (kind === "concurrency") return `${kind}, ${used} of ${limit} run`;
  return `${kind}, ${used} of ${limit} have begun${until === null ? "" : `, the next place is free ${ago(until, nowMs)}`}`;
}

/** `signal paid, until 2026-11-17T03:00:00.000Z (in 59 m)` */
function waitText({ kind, for: target, until }: SagaWait, nowMs: number): string {
  const what = kind === "sleep" ? "time to pass" : `${kind} ${target ?? ""}`;
  return until === null ? `${what}, without a time limit` : `${what}, until ${until} (${ago(until, nowMs)})`;
}

/** `quote → bookings (flight, hotel) → mail`: those in brackets act at the same time. */
function stepsText({ graph, steps }: SagaDetail): string {
  const groupOf = new Map(graph.nodes.map(({ step, group }) => [step, group]));
  const parts: { readonly group: string | null; readonly names: string[] }[] = [];
  for (const { name: step } of steps) {
    const group = groupOf.get(step) ?? null;
    const last = parts.at(-1);
    if (last && group !== null && last.group === group) last.names.push(step);
    else parts.push({ group, names: [step] });
  }
  const texts = parts.map(({ group, names }) =>
    group === null ? names : [`${group} (${names.join(", ")})`],
  );
  return texts.flat().join(" → ");
}

function drawSchedule(output: Output, schedule: ScheduleDetail, nowMs: number): void {
  const { id, status, cron, timezone, saga, version, overlap, missed, jitterMs, paused, pendingRun } =
    schedule;
  output.say(ink`${state(status)}  ${paint("bold", id)}`);
  fact(output, "ticks", `${cron} (${timezone})${jitterMs > 0 ? `, up to ${span(jitterMs)} later` : ""}`);
  fact(output, "starts", `${saga} (version ${version})`);
  fact(output, "input", shapeText(schedule.input.shape));
  fact(output, "overlap", overlap);
  fact(output, "missed", missed);
  if (paused)
    fact(output, "paused", `${ago(paused.since, nowMs)} by ${paused.by ?? "unknown"}: ${paused.reason}`);
  if (pendingRun !== null) fact(output, "run", `${pendingRun} waits for a worker that has the saga`);
  for (const [index, tick] of schedule.nextTicks.entries())
    fact(output, index === 0 ? "next" : "", nextText(tick, nowMs));
  output.say();
  if (schedule.lastTicks.length > 0) ticksTable(output, schedule);
  else output.say(ink`  ${paint("dim", "It has not ticked yet.")}`);
  helps(output, id, schedule.actions);
}

function drawFlow(output: Output, flow: FlowDetail, nowMs: number): void {
  output.say(ink`${state(flow.status)}  ${paint("bold", flow.type)}  ${flow.id}`);
  fact(output, "process", `${flow.processId}, run ${flow.run}`);
  fact(output, "began", `${ago(flow.startedAt, nowMs)} (${flow.startedAt})`);
  fact(output, "done", flow.completedSteps.join(" → ") || "nothing yet");
  if (flow.currentStep !== null) fact(output, "at", flow.currentStep);
  if (flow.errorLabel !== null) fact(output, "failed", paint("red", flow.errorLabel));
  if (flow.status === "stalled") fact(output, "undo failed", undoTrouble(flow));
  output.say();
  output.table(
    [
      { title: "STATUS" },
      { title: "EVENT", least: 8 },
      { title: "HANDLER", least: 8 },
      { title: "TRIES", right: true },
      { title: "WHEN" },
      { title: "LAST ERROR", least: 8 },
    ],
    flow.events.map(({ status, name, handler, attempts, at, lastError }) => [
      entryState(handler === null ? "event" : "delivery", status),
      ink`${name}`,
      ink`${handler ?? ""}`,
      ink`${attempts}`,
      ink`${ago(at, nowMs)}`,
      ink`${lastError ?? ""}`,
    ]),
    "  ",
  );
  const isKnown = flow.actions.length > 0 || flow.status !== "stalled";
  helps(output, flow.id, isKnown ? flow.actions : ["retry", "resolve"]);
  if (!isKnown)
    output.say(
      ink`  ${paint("dim", `with a config that has ${flow.type}, or --console of a process that does`)}`,
    );
}

/** If an undo was abandoned, its error is with its event; if it returned `err`, the last event is its answer. */
function undoTrouble({ currentStep, events }: FlowDetail): Ink {
  const step = currentStep ?? "a step that is not known here";
  const last = events.findLast(({ lastError, handler }) => lastError !== null || handler === null);
  return ink`${step}: ${paint("red", last?.lastError ?? last?.name ?? "UnknownError")}`;
}

function drawEntry(output: Output, entry: OutboxLine, nowMs: number): void {
  output.say(ink`${entryState(entry.kind, entry.status)}  ${paint("bold", entry.name)}  ${entry.id}`);
  fact(output, "kind", [entry.kind, entry.operation].filter((word) => word !== null).join(", "));
  if (entry.subjectId !== null) fact(output, "subject", entry.subjectId);
  if (entry.sagaId !== null) fact(output, "saga", entry.sagaId);
  if (entry.refKind !== null)
    fact(output, "ref", `${entry.refKind}${entry.ref ? `: ${shapeText(entry.ref.shape)}` : ""}`);
  if (entry.payload) fact(output, "payload", shapeText(entry.payload.shape));
  fact(output, "since", `${ago(entry.enqueuedAt, nowMs)} (${entry.enqueuedAt})`);
  fact(
    output,
    "tries",
    `${entry.attempts}${entry.lastAttemptAt === null ? "" : `, the last ${ago(entry.lastAttemptAt, nowMs)}`}`,
  );
  if (entry.nextAttemptAt !== null) fact(output, "next", ago(entry.nextAttemptAt, nowMs));
  if (entry.lastError !== null) fact(output, "last error", paint("red", entry.lastError));
  helps(output, entry.id, entry.actions);
}

function drawDelivery(output: Output, delivery: DeliveryDetail, nowMs: number): void {
  output.say(ink`${state(delivery.status)}  ${paint("bold", delivery.eventType)}  ${delivery.id}`);
  fact(output, "to", `${delivery.url} (subscription ${delivery.subscriptionId})`);
  fact(output, "event", delivery.eventId);
  fact(output, "payload", shapeText(delivery.payload.shape));
  fact(output, "began", `${ago(delivery.createdAt, nowMs)} (${delivery.createdAt})`);
  if (delivery.nextAttemptAt !== null) fact(output, "next", ago(delivery.nextAttemptAt, nowMs));
  if (delivery.errorCode !== null) fact(output, "last error", paint("red", delivery.errorCode));
  if (delivery.deadLetter !== null) fact(output, "dead letter", delivery.deadLetter);
  if (delivery.requeuedAs !== null) fact(output, "resent", `as ${delivery.requeuedAs}`);
  if (delivery.attempts.length > 0) {
    output.say();
    output.table(
      [
        { title: "ATTEMPT" },
        { title: "WHEN" },
        { title: "TOOK", right: true },
        { title: "HTTP", right: true },
        { title: "" },
      ],
      delivery.attempts.map(({ ok, code, at, durationMs, httpStatus, verdict }) => [
        paint(ok ? "green" : "red", code),
        ink`${ago(at, nowMs)}`,
        ink`${span(durationMs)}`,
        ink`${httpStatus ?? ""}`,
        paint("dim", verdict === "accepted" ? "" : verdict),
      ]),
      "  ",
    );
  }
  const again = delivery.status === "Completed" ? { resend: [" --again"] } : {};
  helps(output, delivery.id, delivery.actions, again);
}

function drawSubscription(output: Output, subscription: Subscription, nowMs: number): void {
  const { id, status, url, reason, events, failures, failingSince, createdAt } = subscription;
  output.say(ink`${state(status)}  ${paint("bold", url)}  ${id}`);
  fact(output, "events", events.join(", "));
  fact(output, "since", `${ago(createdAt, nowMs)} (${createdAt})`);
  if (reason !== null) fact(output, "why", paint("red", reason));
  if (failingSince !== null) fact(output, "failing", `${ago(failingSince, nowMs)}, ${failures} in a row`);
  if (status === "Disabled") helps(output, id, subscription.actions);
}

function fact(output: Output, name: string, value: string | Ink): void {
  output.say(ink`  ${paint("dim", name.padEnd(12))}${value}`);
}

/** The allowed actions as commands; `more` has further options by action, one line for each. */
function helps(
  output: Output,
  id: string,
  actions: readonly string[],
  more: Readonly<Record<string, readonly string[]>> = {},
): void {
  if (actions.length === 0) return;
  output.say();
  for (const name of actions)
    for (const words of more[name] ?? [""])
      output.say(ink`  ${paint("cyan", `amends ${name} ${quoted(id)}${words} --reason "…"`)}`);
}

/** An id that a shell would take apart. */
function quoted(id: string): string {
  return /^[\w.:@/+-]+$/.test(id) ? id : `'${id.replaceAll("'", `'\\''`)}'`;
}

/** `{ orderId: text, lines: [number] }` */
function shapeText(shape: Shape): string {
  if (typeof shape !== "object") return String(shape);
  if (Array.isArray(shape)) return `[${(shape as readonly Shape[]).map(shapeText).join(", ")}]`;
  const fields = Object.entries(shape as ShapeFields).map(([key, value]) =>
    key === "…" ? "…" : `${key}: ${shapeText(value)}`,
  );
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}
