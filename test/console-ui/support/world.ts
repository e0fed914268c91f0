/** Everything that the fixture server knows, and what people do to it. Three worlds: a busy one, an empty one, a hostile one. */
import type { ActionLine, AttentionLine, Json, Part, Role } from "../../../src/console/contract.ts";
import type {
  AuditEventLine,
  DeliveryDetail,
  ErasureLine,
  FlowDetail,
  OutboxLine,
  ScheduleDetail,
  Subscription,
} from "../../../src/console/contract-parts.ts";
import { HOSTILE } from "./hostile.ts";
import {
  briefOf,
  deliveryOf,
  entryOf,
  erasureOf,
  flowOf,
  subscriptionOf,
  trailEvents,
} from "./parts-world.ts";
import { scheduleOf, schedulesOf, tickOf } from "./schedule-world.ts";
import { DEFINITIONS, playSaga, type Ending, type StoredSaga } from "./saga-world.ts";

export type Kind = "busy" | "empty" | "hostile";

export interface World {
  readonly kind: Kind;
  readonly nowMs: number;
  readonly roles: readonly Role[];
  readonly parts: readonly Part[];
  readonly sagas: Map<string, StoredSaga>;
  readonly schedules: Map<string, ScheduleDetail>;
  readonly outbox: Map<string, OutboxLine>;
  readonly erasures: ErasureLine[];
  readonly trail: readonly AuditEventLine[];
  readonly flows: Map<string, FlowDetail>;
  readonly subscriptions: Map<string, Subscription>;
  readonly deliveries: Map<string, DeliveryDetail>;
  readonly audit: ActionLine[];
  attention: readonly AttentionLine[];
}

const PARTS: readonly Part[] = ["sagas", "schedules", "outbox", "erasures", "flows", "webhooks"];
const ROLES: readonly Role[] = ["read", "operate", "reveal"];
/** How a hundred sagas end. */
const ENDINGS: readonly (readonly [Ending, number])[] = [
  ["STALLED", 2],
  ["RUNNING", 5],
  ["COMPENSATING", 2],
  ["PENDING", 2],
  ["FAILED", 9],
  ["COMPLETED", 80],
];

const TENANTS = ["acme", "globex"];

const EAST = (nowMs: number): Subscription =>
  subscriptionOf("2", "Disabled", nowMs, "https://warehouse-east.example/in");

const byId = <T extends { readonly id: string }>(list: readonly T[]): Map<string, T> =>
  new Map(list.map((item) => [item.id, item]));

export function makeWorld(kind: Kind, nowMs: number, roles: readonly Role[] = ROLES): World {
  const world: World = {
    kind,
    nowMs,
    roles,
    parts: PARTS,
    sagas: new Map(),
    schedules: new Map(),
    outbox: new Map(),
    erasures: [],
    trail: [],
    flows: new Map(),
    subscriptions: new Map(),
    deliveries: new Map(),
    audit: [],
    attention: [],
  };
  if (kind === "empty") return world;
  const made = kind === "busy" ? busy(world) : hostile(world);
  return { ...made, attention: attentionOf(made) };
}

function busy(world: World): World {
  const { nowMs } = world;
  const names = Object.keys(DEFINITIONS);
  const endings = ENDINGS.flatMap(([ending, count]) => Array.from({ length: count }, () => ending));
  const sagas = endings.map((ending, index) => {
    const name = names[(index * 7) % names.length] ?? "place-order";
    const id = ending === "STALLED" && index === 0 ? "o-4711" : `${name.slice(0, 2)}-${7_000 + index * 13}`;
    const back = ending === "COMPLETED" ? index * 21_000 : index * 2_600;
    return playSaga({
      id,
      name: id === "o-4711" ? "place-order" : name,
      ending,
      startMs: nowMs - 4_000 - back,
      ...(name === "onboard-tenant" && { attributes: { tenant: TENANTS[index % 2] ?? "acme", tier: 2 } }),
      ...(ending === "PENDING" && index % 2 === 1 && { runAtMs: nowMs + 7_200_000, priority: 5 }),
      input: {
        orderId: id,
        sku: "tea",
        cents: 1_200,
        customer: { email: "ada@example.com", name: "Ada Lovelace" },
        items: [1, 2, 3],
      },
    });
  });
  return {
    ...world,
    sagas: new Map(sagas.map((saga) => [saga.detail.id, saga])),
    schedules: byId(schedulesOf(nowMs)),
    outbox: byId([
      entryOf("0193-e1", "abandoned", nowMs),
      entryOf("0193-e2", "failed", nowMs, { name: "s3-logs", refKind: "s3", subjectId: "user-9" }),
      entryOf("0193-e3", "in_flight", nowMs, {
        kind: "event",
        name: "SchemaCreated",
        operation: null,
        subjectId: null,
      }),
      entryOf("0193-e4", "pending", nowMs, { name: "search-index", subjectId: "user-12" }),
      entryOf("0193-e6", "pending", nowMs, {
        kind: "event",
        name: "ShelfFilled",
        operation: null,
        subjectId: null,
      }),
      entryOf("0193-e5", "scheduled", nowMs, {
        name: "backups",
        nextAttemptAt: new Date(nowMs + 9 * 86_400_000).toISOString(),
      }),
      ...Array.from({ length: 14 }, (_, index) =>
        entryOf(`0193-s${index}`, "succeeded", nowMs - index * 190_000, {
          subjectId: `user-${20 + index}`,
          name: index % 2 ? "stripe" : "mailer",
        }),
      ),
    ]),
    erasures: [
      erasureOf("user-3", nowMs, "overdue"),
      erasureOf("user-7", nowMs, "open"),
      ...[20, 21, 22, 23].map((number) =>
        erasureOf(`user-${number}`, nowMs - number * 3_600_000, "completed"),
      ),
    ],
    trail: trailEvents("user-7", nowMs),
    flows: byId([
      flowOf("f-1", "stalled", nowMs, "srn:conv:berlin-26"),
      flowOf("f-2", "running", nowMs, "srn:conv:oslo-27"),
      flowOf("f-3", "compensating", nowMs, "srn:conv:lyon-26"),
      flowOf("f-4", "failed", nowMs, "srn:conv:graz-25"),
      ...Array.from({ length: 8 }, (_, index) =>
        flowOf(`f-c${index}`, "completed", nowMs - index * 400_000, `srn:conv:city-${index}`),
      ),
    ]),
    subscriptions: byId([
      subscriptionOf("1", "Active", nowMs, "https://ledger.example/hooks/amends"),
      EAST(nowMs),
      subscriptionOf("3", "Paused", nowMs, "https://staging.partner.example/hook"),
    ]),
    deliveries: byId([
      deliveryOf("501", "DeadLettered", nowMs, {
        subscriptionId: "2",
        subscription: briefOf(EAST(nowMs)),
        url: "https://warehouse-east.example/in",
      }),
      deliveryOf("502", "PendingRetry", nowMs),
      deliveryOf("503", "InProgress", nowMs, { eventType: "refund.created" }),
      deliveryOf("504", "Pending", nowMs),
      ...Array.from({ length: 12 }, (_, index) =>
        deliveryOf(`6${10 + index}`, "Completed", nowMs - index * 70_000, { eventId: String(8_000 + index) }),
      ),
    ]),
    audit: [
      actionOf(
        "a1",
        nowMs - 120_000,
        "retry",
        { kind: "saga", id: "o-4711" },
        "The bank is open again",
        "done",
      ),
      actionOf(
        "a2",
        nowMs - 400_000,
        "reveal",
        { kind: "saga", id: "o-4711" },
        "Investigating a failure",
        "done",
      ),
      actionOf(
        "a3",
        nowMs - 900_000,
        "cancel",
        { kind: "saga", id: "pl-7000" },
        "Started by mistake",
        "refused",
      ),
    ],
  };
}

export function actionOf(
  id: string,
  atMs: number,
  action: string,
  target: ActionLine["target"],
  reason: string,
  outcome: ActionLine["outcome"],
): ActionLine {
  const code = outcome === "refused" ? "PIVOT_PASSED" : null;
  return { id, at: new Date(atMs).toISOString(), by: "Otto", action, target, reason, outcome, code };
}

/** Recomputed after every action, as the real list would be. */
export function attentionOf(world: World): readonly AttentionLine[] {
  const sagas = [...world.sagas.values()].flatMap(({ detail }): readonly AttentionLine[] => {
    if (detail.status !== "STALLED") return [];
    const { id, saga: name, updatedAt: since, skippable } = detail;
    const actions = detail.actions.filter((action) => action !== "reverse");
    const skips = detail.undoErrors.length > 0 ? "undo" : "act";
    return [
      { kind: "stalled-saga", id, name, since, reason: detail.stalled ?? "", actions, skippable, skips },
    ];
  });
  const entries = [...world.outbox.values()].flatMap((entry): readonly AttentionLine[] => {
    if (entry.status !== "abandoned") return [];
    const { id, name, enqueuedAt: since, actions } = entry;
    const reason = `for ${entry.subjectId}: ${name} did not erase: ${entry.lastError}, ${entry.attempts} attempts`;
    return [{ kind: "abandoned-entry", id, name, since, reason, actions, skippable: [] }];
  });
  const flows = [...world.flows.values()].flatMap((flow): readonly AttentionLine[] => {
    if (flow.status !== "stalled") return [];
    const { id, type: name, processId, updatedAt: since, actions } = flow;
    const reason = "the undo of create_feature_tables failed (ConnectionRefused)";
    return [{ kind: "stalled-run", id, name, processId, since, reason, actions, skippable: [] }];
  });
  const letters = [...world.deliveries.values()].flatMap((delivery): readonly AttentionLine[] => {
    if (delivery.deadLetter !== "Open") return [];
    const { id, eventType: name, updatedAt: since, actions, subscription } = delivery;
    const reason = `event ${delivery.eventId} to ${delivery.url}: it answered HTTP 503, 5 attempts`;
    return [{ kind: "dead-letter", id, name, since, reason, actions, skippable: [], subscription }];
  });
  const subscriptions = [...world.subscriptions.values()].flatMap((one): readonly AttentionLine[] => {
    if (one.status !== "Disabled") return [];
    const { id, updatedAt: since } = one;
    const actions = one.actions as AttentionLine["actions"];
    const subscription = briefOf(one);
    const why =
      one.reason === "gone"
        ? "it answered HTTP 410 (gone for good)"
        : "no delivery has succeeded for a long time";
    const reason = `${one.url}: ${why}`;
    return [
      {
        kind: "disabled-subscription",
        id,
        name: subscription.name,
        since,
        reason,
        actions,
        skippable: [],
        subscription,
      },
    ];
  });
  const overdue = world.erasures.flatMap((erasure): readonly AttentionLine[] => {
    if (!erasure.overdue) return [];
    const { subjectId: id, dueBy: since } = erasure;
    const reason = "stripe is abandoned";
    return [{ kind: "overdue-erasure", id, name: "erasure", since, reason, actions: [], skippable: [] }];
  });
  return [...sagas, ...entries, ...flows, ...letters, ...subscriptions, ...overdue];
}

/** Every field that somebody could have stored holds something that must never run. */
function hostile(world: World): World {
  const { nowMs } = world;
  const huge: Json = { text: "x".repeat(60_000), many: Array.from({ length: 3_000 }, (_, index) => index) };
  const sagas = HOSTILE.map((text, index) =>
    playSaga({
      id: `${text}${index}`.slice(0, 255),
      name: text,
      ending: index % 3 === 0 ? "STALLED" : "FAILED",
      startMs: nowMs - 60_000 * index,
      input: index === 0 ? huge : { note: text, [text]: text },
      attributes: { [text]: text },
      steps: [text, `${text}-2`, `${text}-3`],
    }),
  );
  const text = HOSTILE.join(" ");
  return {
    ...world,
    sagas: new Map(sagas.map((saga) => [saga.detail.id, saga])),
    schedules: byId(
      HOSTILE.map((bad, index) =>
        scheduleOf(bad, nowMs, {
          cron: bad,
          timezone: bad,
          saga: bad,
          pendingRun: bad,
          status: index % 2 ? "paused" : "active",
          paused: { since: new Date(nowMs).toISOString(), by: bad, reason: bad },
          lastTicks: [
            tickOf(bad, nowMs, { sagaId: bad, outcome: bad as "missed", sagaStatus: bad as "FAILED" }),
          ],
        }),
      ),
    ),
    outbox: byId(
      HOSTILE.map((bad, index) =>
        entryOf(`e-${index}`, index % 2 ? "abandoned" : "succeeded", nowMs, {
          name: bad,
          subjectId: bad,
          lastError: bad,
          kind: bad,
          refKind: bad,
        }),
      ),
    ),
    erasures: HOSTILE.map((bad) => erasureOf(bad, nowMs, "overdue")),
    trail: HOSTILE.map((bad, index) => ({
      id: `t-${index}`,
      type: bad,
      subjectId: bad,
      at: new Date(nowMs).toISOString(),
      payload: { [bad]: bad },
    })),
    flows: byId(
      HOSTILE.map((bad, index) => ({
        ...flowOf(`f-${index}`, "stalled", nowMs, bad),
        type: bad,
        errorLabel: bad,
        currentStep: bad,
      })),
    ),
    subscriptions: byId(
      HOSTILE.map((bad, index) => ({
        ...subscriptionOf(`${index}`, "Disabled", nowMs, bad),
        description: bad,
        reason: bad,
        events: [bad],
      })),
    ),
    deliveries: byId(
      HOSTILE.map((bad, index) =>
        deliveryOf(`${index}`, "DeadLettered", nowMs, {
          eventType: bad,
          url: bad,
          errorCode: bad,
          eventId: bad,
        }),
      ),
    ),
    audit: HOSTILE.map((bad, index) => ({
      ...actionOf(`a-${index}`, nowMs, bad, { kind: "saga", id: bad }, text, "done"),
      by: bad,
      code: bad,
    })),
  };
}
