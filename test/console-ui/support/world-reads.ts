/** What the fixture server answers to reads. */
import { notFound } from "../../../src/console/http/answer.ts";
import type { Page, SagaLine, SagaPage } from "../../../src/console/contract.ts";
import type { DeliveryLine, FlowLine } from "../../../src/console/contract-parts.ts";
import { parseAttributes } from "../../../src/core/start/attribute-pairs.ts";
import { lineOf } from "./saga-world.ts";
import { historyOf, overviewOf } from "./overview-world.ts";
import type { World } from "./world.ts";

export function readWorld(world: World, name: string, query: URLSearchParams): unknown {
  const [room = "", first, second] = name.split("/").map(decodeURIComponent);
  if (room === "overview" && first === "history") {
    return historyOf(world, (query.get("window") ?? "1h") as "1h");
  }
  if (room === "overview") return overviewOf(world, (query.get("window") ?? "1h") as "1h");
  if (room === "attention") return pageOf(world.attention, query);
  if (room === "audit" && first === "events") {
    return pageOf(fit(world.trail, query.get("subject"), "subjectId"), query);
  }
  if (room === "audit") {
    const wanted = query.get("target");
    return pageOf(
      wanted === null ? world.audit : world.audit.filter(({ target }) => target.id === wanted),
      query,
    );
  }
  if (room === "sagas")
    return first === undefined ? sagas(world, query) : (world.sagas.get(first)?.detail ?? lost());
  if (room === "paused") {
    const held = [...world.sagas.values()].flatMap(({ detail: { id, saga, paused } }) =>
      paused ? [{ ...paused, id, name: saga }] : [],
    );
    return pageOf(held, query);
  }
  if (room === "schedules") {
    if (first !== undefined) return world.schedules.get(first) ?? lost();
    const wanted = query.get("q") ?? "";
    const lines = states([...world.schedules.values()], query).filter(({ id }) => id.startsWith(wanted));
    return pageOf(lines, query);
  }
  // Nobody has acted on many items at once there.
  if (room === "bulk") return first === undefined ? pageOf([], query) : lost();
  if (room === "outbox") {
    if (first !== undefined) return world.outbox.get(first) ?? lost();
    const kinds = query.get("kind")?.split(",");
    const entries = states([...world.outbox.values()], query).filter(
      ({ kind }) => kinds?.includes(kind) ?? true,
    );
    return pageOf(fit(entries, query.get("subject"), "subjectId"), query);
  }
  if (room === "flows") {
    if (first !== undefined) return world.flows.get(first) ?? lost();
    const lines: readonly FlowLine[] = states([...world.flows.values()], query);
    return pageOf(
      loose(lines, query, ({ type, processId }) => `${type} ${processId}`),
      query,
    );
  }
  if (room === "erasures") {
    const wanted = query.get("status");
    const lines = world.erasures.filter(
      ({ overdue, completedAt }) =>
        wanted === null || wanted === (completedAt === null ? (overdue ? "overdue" : "open") : "completed"),
    );
    return pageOf(fit(lines, query.get("q"), "subjectId"), query);
  }
  if (room === "subjects" && first !== undefined) return subject(world, first);
  if (room === "webhooks" && first === "subscriptions") {
    if (second !== undefined) return world.subscriptions.get(second) ?? lost();
    return pageOf(
      loose(states([...world.subscriptions.values()], query), query, ({ url }) => url),
      query,
    );
  }
  if (room === "webhooks" && first === "deliveries") {
    if (second !== undefined) return world.deliveries.get(second) ?? lost();
    const lines: readonly DeliveryLine[] = states([...world.deliveries.values()], query);
    return pageOf(
      fit(fit(lines, query.get("event"), "eventId"), query.get("subscription"), "subscriptionId"),
      query,
    );
  }
  return lost();
}

function subject(world: World, id: string): unknown {
  const requests = world.erasures.filter(({ subjectId }) => subjectId === id);
  if (requests.length === 0) return lost();
  const entries = [...world.outbox.values()].filter(({ subjectId }) => subjectId === id);
  return {
    subjectId: id,
    requests,
    entries,
    events: world.trail.filter(({ subjectId }) => subjectId === id),
  };
}

function sagas(world: World, query: URLSearchParams): SagaPage {
  const name = query.get("name");
  const lines: readonly SagaLine[] = [...world.sagas.values()]
    .map(lineOf)
    .toSorted((one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt));
  const wanted = Object.entries(parseAttributes(query.get("attributes") ?? "any=", "It"));
  const error = query.get("error");
  const kept = states(lines, query).filter(
    ({ saga, attributes, lastError }) =>
      (name === null || saga === name) &&
      (error === null || lastError === error) &&
      (!query.has("attributes") || wanted.every(([key, value]) => attributes[key] === value)),
  );
  const found = loose(kept, query, ({ id, saga, status }) => `${id} ${saga} ${status}`);
  return { ...pageOf(found, query), searchedTo: null };
}

function lost(): never {
  throw notFound("such thing");
}

function states<T extends { readonly status: string }>(
  items: readonly T[],
  query: URLSearchParams,
): readonly T[] {
  const wanted = query.get("status")?.split(",");
  return wanted ? items.filter(({ status }) => wanted.includes(status)) : items;
}

function fit<T>(items: readonly T[], wanted: string | null, field: keyof T): readonly T[] {
  return wanted === null ? items : items.filter((item) => item[field] === wanted);
}

function loose<T>(items: readonly T[], query: URLSearchParams, text: (item: T) => string): readonly T[] {
  const wanted = query.get("q")?.toLowerCase();
  return wanted === undefined ? items : items.filter((item) => text(item).toLowerCase().includes(wanted));
}

function pageOf<T>(items: readonly T[], query: URLSearchParams): Page<T> {
  const size = Number(query.get("limit") ?? 50);
  const from = Number(query.get("after") ?? 0);
  const end = from + size;
  return { items: items.slice(from, end), next: end < items.length ? String(end) : null };
}
