/** What the fixture server does when somebody acts: about what the real one would, and as strict about the reason. */
import { badInput, notFound, Refused } from "../../../src/console/http/answer.ts";
import type { Json, Revealed } from "../../../src/console/contract.ts";
import type { Unsubscribed, DeliveryDetail, Subscription } from "../../../src/console/contract-parts.ts";
import { DELIVERY_SECRET } from "./parts-world.ts";
import { scheduleOf } from "./schedule-world.ts";
import { actionOf, attentionOf, type World } from "./world.ts";

type Body = Readonly<Record<string, unknown>>;

/** Acting on this one is refused, to see how that looks. */
export const REFUSED_REASON = "refuse me";

export function applyAction(world: World, name: string, body: Body): unknown {
  const { reason } = body;
  if (typeof reason !== "string" || reason.trim() === "") throw badInput("reason", "must say why");
  if (reason === REFUSED_REASON) {
    throw new Refused(409, { code: "CONFLICT", message: "More has happened since: load it again." });
  }
  const parts = name.split("/").map(decodeURIComponent);
  const answer = name === "reveal" ? reveal(world, body) : act(world, parts, body);
  const action = name === "reveal" ? "reveal" : (parts.at(-1) ?? "");
  const target =
    name === "reveal"
      ? { kind: String(body["kind"]), id: String(body["id"]) }
      : { kind: KINDS[parts.slice(0, -2).join("/")] ?? "saga", id: parts.at(-2) ?? "" };
  world.audit.unshift(actionOf(`a${world.audit.length + 10}`, Date.now(), action, target, reason, "done"));
  world.attention = attentionOf(world);
  return answer;
}

const KINDS: Readonly<Record<string, string>> = {
  sagas: "saga",
  schedules: "schedule",
  outbox: "entry",
  flows: "flow",
  "webhooks/subscriptions": "subscription",
  "webhooks/deliveries": "delivery",
};

function act(world: World, parts: readonly string[], body: Body): unknown {
  const [room, id = ""] = parts;
  const action = parts.at(-1) ?? "";
  if (room === "sagas") return sagaAction(world, id, action, body);
  if (room === "schedules") return scheduleAction(world, id, action, String(body["reason"]));
  if (room === "outbox") {
    const entry = world.outbox.get(id) ?? lost();
    const status = action === "resolve" ? "succeeded" : "pending";
    const after = { ...entry, status, attempts: 0, lastError: null, actions: [] } as const;
    world.outbox.set(id, after);
    return after;
  }
  if (room === "flows") {
    const flow = world.flows.get(id) ?? lost();
    const status = action === "retry" ? "compensating" : "failed";
    const after = { ...flow, status, actions: [] } as const;
    world.flows.set(id, after);
    return after;
  }
  return webhookAction(world, parts[1] ?? "", parts[2] ?? "", action, body);
}

function sagaAction(world: World, id: string, action: string, body: Body): unknown {
  const saga = world.sagas.get(id) ?? lost();
  if (body["revision"] !== undefined && body["revision"] !== saga.detail.revision) {
    throw new Refused(409, { code: "CONFLICT", message: "More has happened since: load it again." });
  }
  if (action === "pause" || action === "resume") {
    const since = new Date().toISOString();
    const why = { kind: "id", reason: String(body["reason"]), by: "ann", since } as const;
    const paused = action === "pause" ? why : null;
    const held = { ...saga.detail, paused, isPaused: paused !== null, revision: saga.detail.revision + 1 };
    world.sagas.set(id, { ...saga, detail: held });
    return held;
  }
  const endings = {
    retry: "COMPENSATING",
    skip: "FAILED",
    resolve: String(body["as"]),
    cancel: "COMPENSATING",
  };
  const status = endings[action as keyof typeof endings] as "FAILED";
  const detail = { ...saga.detail, status, revision: saga.detail.revision + 1, actions: [], stalled: null };
  world.sagas.set(id, { ...saga, detail });
  return detail;
}

function scheduleAction(world: World, id: string, action: string, reason: string): unknown {
  const schedule = world.schedules.get(id) ?? lost();
  if (action === "remove") {
    world.schedules.delete(id);
    return { id, status: "removed", actions: [] };
  }
  if (action === "run") {
    const sagaId = `${id}@run-0193a7ff`;
    world.schedules.set(id, { ...schedule, pendingRun: sagaId });
    return { ...schedule, pendingRun: sagaId, sagaId };
  }
  const status = action === "pause" ? "paused" : "active";
  const paused = status === "paused" ? { since: new Date().toISOString(), by: "Otto", reason } : null;
  const fresh = scheduleOf(id, world.nowMs, { status });
  const { next, nextTicks, actions } = fresh;
  const after = { ...schedule, status, paused, next, nextTicks, actions } as const;
  world.schedules.set(id, after);
  return after;
}

function webhookAction(world: World, list: string, id: string, action: string, body: Body): unknown {
  if (list === "subscriptions") {
    if (action === "resend") {
      if (typeof body["since"] !== "string") throw badInput("since", "must be an instant");
      return { deliveries: 12 };
    }
    const subscription = world.subscriptions.get(id) ?? lost();
    if (action === "unsubscribe") return deleteSubscription(world, subscription);
    return setStatus(world, subscription, action === "enable" ? "Active" : "Paused");
  }
  const delivery = world.deliveries.get(id) ?? lost();
  if (action === "dismiss") return dismiss(world, delivery);
  const subscription = world.subscriptions.get(delivery.subscriptionId);
  if (subscription?.status === "Disabled") {
    if (body["enable"] !== true)
      throw new Refused(409, { code: "SUBSCRIPTION_DISABLED", message: "The subscription is disabled." });
    setStatus(world, subscription, "Active");
  }
  const again = {
    ...delivery,
    id: `${id}1`,
    status: "Pending",
    attempts: [],
    attemptCount: 0,
    requeuedFrom: id,
    deadLetter: null,
    actions: [],
    generation: delivery.generation + 1,
  } as const;
  world.deliveries.set(id, {
    ...delivery,
    deadLetter: delivery.deadLetter && "Requeued",
    requeuedAs: again.id,
    actions: [],
  });
  world.deliveries.set(again.id, again);
  return again;
}

function setStatus(world: World, subscription: Subscription, status: "Active" | "Paused"): Subscription {
  const after = { ...subscription, status, actions: ["enable", "unsubscribe"], reason: null } as const;
  world.subscriptions.set(subscription.id, after);
  return after;
}

function deleteSubscription(world: World, subscription: Subscription): Unsubscribed {
  const after = { ...subscription, status: "Deleted", actions: [], reason: null } as const;
  world.subscriptions.set(subscription.id, after);
  const letters = [...world.deliveries.values()].filter(
    ({ subscriptionId, deadLetter }) => subscriptionId === subscription.id && deadLetter === "Open",
  );
  for (const letter of letters) dismiss(world, letter);
  return { ...after, dismissed: letters.length };
}

function dismiss(world: World, delivery: DeliveryDetail): DeliveryDetail {
  const after = { ...delivery, deadLetter: "Dismissed", actions: [] } as const;
  world.deliveries.set(delivery.id, after);
  return after;
}

function reveal(world: World, body: Body): Revealed {
  if (!world.roles.includes("reveal")) {
    throw new Refused(403, { code: "FORBIDDEN", message: "This needs the role reveal." });
  }
  if (body["kind"] === "saga") return { fields: world.sagas.get(String(body["id"]))?.secret ?? lost() };
  const other: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
    delivery: DELIVERY_SECRET,
    schedule: { input: { region: "eu", dryRun: false } },
    entry: { ref: { kind: "stripe", value: "cus_9" }, payload: null },
    event: { data: { conventionSrn: "srn:conv:berlin-26", fieldCount: 3 } },
    flow: { error: { error: "quota" } },
    attempt: { response: { body: "<b>upstream is down</b>" } },
  };
  return { fields: other[String(body["kind"])] ?? lost() };
}

function lost(): never {
  throw notFound("such thing");
}
