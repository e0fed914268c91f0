/** Outbox, erasures, event flows and webhooks of the same shop. */
import type { Graph, GraphNode, Json } from "../../../src/console/contract.ts";
import type {
  AuditEventLine,
  DeliveryDetail,
  DeliveryStatus,
  ErasureLine,
  FlowDetail,
  FlowStatus,
  OutboxLine,
  OutboxStatus,
  Subscription,
  SubscriptionBrief,
  SubscriptionStatus,
} from "../../../src/console/contract-parts.ts";
import { mask } from "../../../src/console/http/mask.ts";

const iso = (atMs: number): string => new Date(atMs).toISOString();
const MINUTE = 60_000;
const DAY = 86_400_000;

export function entryOf(
  id: string,
  status: OutboxStatus,
  nowMs: number,
  more: Partial<OutboxLine> = {},
): OutboxLine {
  const over = status === "succeeded" || status === "superseded";
  const trouble = status === "abandoned" || status === "failed";
  return {
    id,
    kind: "erasure",
    name: "stripe",
    status,
    operation: "erase",
    subjectId: "user-7",
    sagaId: null,
    refKind: "stripe",
    ref: over ? null : mask({ kind: "stripe", value: "cus_9" }),
    payload: null,
    attempts: status === "pending" ? 0 : status === "abandoned" ? 8 : trouble ? 3 : 1,
    enqueuedAt: iso(nowMs - 42 * MINUTE),
    lastAttemptAt: status === "pending" ? null : iso(nowMs - 4 * MINUTE),
    nextAttemptAt: status === "failed" ? iso(nowMs + 2 * MINUTE) : null,
    lastError: trouble ? "RateLimited" : null,
    actions: status === "abandoned" ? ["requeue", "resolve"] : [],
    ...more,
  };
}

export function erasureOf(
  subjectId: string,
  nowMs: number,
  end: "open" | "overdue" | "completed",
): ErasureLine {
  const requestedMs = nowMs - (end === "overdue" ? 34 : 3) * DAY;
  return {
    subjectId,
    operation: "erase",
    requestedAt: iso(requestedMs),
    completedAt: end === "completed" ? iso(requestedMs + 2 * DAY) : null,
    dueBy: iso(requestedMs + 30 * DAY),
    overdue: end === "overdue",
    open: end === "completed" ? 0 : 1,
    abandoned: 0,
  };
}

export function trailEvents(subjectId: string, nowMs: number): readonly AuditEventLine[] {
  const facts: readonly (readonly [string, AuditEventLine["payload"]])[] = [
    ["ERASURE_REQUESTED", { generation: 1 }],
    ["ERASURE_LOCAL_COMPLETED", { deleted: 14, anonymized: 3, retained: 2 }],
    ["ERASURE_STEP_SUCCEEDED", { resolver: "s3-logs", attempts: 1 }],
    ["ERASURE_STEP_FAILED", { resolver: "stripe", error: "RateLimited", attempts: 8, abandoned: true }],
    ["ERASURE_REQUEUED", { resolver: "stripe", prior_attempts: 8, prior_error: "RateLimited" }],
    ["ERASURE_STEP_SUCCEEDED", { resolver: "stripe", attempts: 1 }],
    ["ERASURE_COMPLETED", { entries: 2 }],
  ];
  return facts.map(([type, payload], index) => ({
    id: `${subjectId}-a${index}`,
    type,
    subjectId,
    at: iso(nowMs - 3 * DAY + index * 47 * MINUTE),
    payload,
  }));
}

const FLOW_STEPS = ["create_schema", "create_feature_tables", "publish"];

export function flowOf(id: string, status: FlowStatus, nowMs: number, processId: string): FlowDetail {
  const doneCount = status === "completed" ? 3 : status === "running" ? 1 : 2;
  const done = FLOW_STEPS.slice(0, doneCount);
  const trouble = status !== "completed" && status !== "running";
  const startedMs = nowMs - 9 * MINUTE;
  return {
    id,
    type: "convention_init",
    processId,
    run: 1,
    status,
    currentStep: FLOW_STEPS[doneCount] ?? null,
    completedSteps: done,
    startedAt: iso(startedMs),
    updatedAt: iso(nowMs - 3 * MINUTE),
    dueAt: null,
    errorLabel: trouble ? "FeatureTablesRejected" : null,
    error: trouble ? mask({ conventionSrn: processId, error: "quota" }) : null,
    actions: status === "stalled" ? ["retry", "resolve"] : [],
    events: [
      ["ConventionRegistered", "CreateConventionSchema", "succeeded"],
      ["SchemaCreated", "CreateFeatureTables", "succeeded"],
      ...(trouble ? [["FeatureTablesRejected", null, "succeeded"] as const] : []),
      ...(status === "stalled" ? [["CompensateSchema", "DropSchema", "abandoned"] as const] : []),
    ].map(([name, handler, state], index) => ({
      id: `${id}-e${index}`,
      name,
      handler,
      status: state as OutboxStatus,
      attempts: state === "abandoned" ? 8 : 1,
      at: iso(startedMs + index * 40_000),
      lastError: state === "abandoned" ? "ConnectionRefused" : null,
      data: mask({ conventionSrn: processId, fieldCount: 3 }),
      actions: [],
    })),
    graph: flowGraph(status, doneCount, startedMs),
  };
}

function flowGraph(status: FlowStatus, doneCount: number, startedMs: number): Graph {
  const turned = status !== "completed" && status !== "running";
  const node = (
    id: string,
    kind: GraphNode["kind"],
    step: string | null,
    state: GraphNode["state"],
    at: number,
  ): GraphNode => ({
    id,
    kind,
    step,
    label: step ?? id,
    pivot: false,
    group: null,
    state,
    attempts: state === "none" ? 0 : 1,
    startedAt: state === "none" ? null : iso(startedMs + at),
    endedAt: state === "done" || state === "failed" ? iso(startedMs + at + 900) : null,
  });
  const acts = FLOW_STEPS.map((step, index) => {
    const state = index < doneCount ? "done" : index > doneCount ? "none" : turned ? "failed" : "running";
    return node(`act:${step}`, "act", step, state, index * 1_000);
  });
  const undos = FLOW_STEPS.slice(0, 2).map((step, index) => {
    const first = status === "stalled" ? "failed" : status === "failed" ? "done" : "running";
    const state = !turned ? "none" : index === 1 ? first : status === "failed" ? "done" : "none";
    return node(`undo:${step}`, "undo", step, state, 5_000 - index * 1_000);
  });
  const ids = ["start", ...acts.map(({ id }) => id), "completed"];
  return {
    nodes: [
      node("start", "start", null, "done", 0),
      ...acts,
      ...undos,
      node("completed", "end", null, status === "completed" ? "done" : "none", 0),
      node("failed", "end", null, status === "failed" ? "done" : "none", 0),
    ],
    edges: [
      ...ids.slice(1).map((to, index) => ({
        from: ids[index] ?? "start",
        to,
        kind: "forward" as const,
        taken: index <= (status === "completed" ? doneCount : Math.min(doneCount, 2)),
      })),
      { from: "act:publish", to: "undo:create_feature_tables", kind: "turn", taken: turned },
      {
        from: "undo:create_feature_tables",
        to: "undo:create_schema",
        kind: "back",
        taken: status === "failed",
      },
      { from: "undo:create_schema", to: "failed", kind: "back", taken: status === "failed" },
    ],
  };
}

export function subscriptionOf(
  id: string,
  status: SubscriptionStatus,
  nowMs: number,
  url: string,
): Subscription {
  const failing = status === "Disabled";
  return {
    id,
    url,
    description: failing ? "Warehouse partner, east" : "Ledger of the finance team",
    status,
    reason: failing ? "failing" : null,
    events: ["order.*", "refund.created"],
    attempts: 12,
    concurrency: 4,
    ordered: false,
    liveSecrets: 1,
    failingSince: failing ? iso(nowMs - 5 * DAY) : null,
    failures: failing ? 211 : 0,
    createdAt: iso(nowMs - 90 * DAY),
    updatedAt: iso(nowMs - 20 * MINUTE),
    actions: failing ? ["enable", "unsubscribe"] : ["pause", "resend", "unsubscribe"],
  };
}

export function briefOf({ id, description, url, status, reason }: Subscription): SubscriptionBrief {
  return { id, name: description ?? url, status, gone: status === "Disabled" && reason === "gone" };
}

export function deliveryOf(
  id: string,
  status: DeliveryStatus,
  nowMs: number,
  more: Partial<DeliveryDetail> = {},
): DeliveryDetail {
  const dead = status === "DeadLettered";
  const tries = dead ? 5 : status === "PendingRetry" ? 2 : status === "Pending" ? 0 : 1;
  const createdMs = nowMs - 38 * MINUTE;
  const error = dead || status === "PendingRetry" ? "http_503" : null;
  return {
    id,
    eventId: "9001",
    eventType: "order.placed",
    subscriptionId: "1",
    subscription: { id: "1", name: "Ledger of the finance team", status: "Active", gone: false },
    url: "https://ledger.example/hooks/amends",
    status,
    attemptCount: tries,
    nextAttemptAt: status === "PendingRetry" ? iso(nowMs + 95_000) : null,
    errorCode: error,
    generation: 0,
    createdAt: iso(createdMs),
    updatedAt: iso(nowMs - 2 * MINUTE),
    payload: mask({ orderId: "o-1", total: { cents: 1_200, currency: "EUR" } }),
    requeuedFrom: null,
    requeuedAs: null,
    deadLetter: dead ? "Open" : null,
    actions: dead ? ["resend", "dismiss"] : status === "Completed" ? ["resend"] : [],
    attempts: Array.from({ length: tries }, (_, index) => ({
      id: `${id}-t${index}`,
      at: iso(createdMs + (2 ** index - 1) * 30_000),
      ok: error === null,
      verdict: "accepted",
      code: error ?? "ok",
      httpStatus: error === null ? 204 : index === 0 && dead ? null : 503,
      durationMs: 120 + index * 340,
      response: error === null ? null : mask({ body: "upstream is down" }),
    })),
    ...more,
  };
}

export const DELIVERY_SECRET: Readonly<Record<string, Json>> = {
  payload: { orderId: "o-1", total: { cents: 1_200, currency: "EUR" } },
};
