/**
 * What changes, as it changes. One stream for the whole page; what arrives only says which figures are out of date, and
 * whoever shows them loads them again. The stream is closed while nobody looks, and everything counts as changed after it.
 */
import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Count, LiveChange, Part, SagaLine } from "../../../src/console/contract.ts";
import { apiUrl, get } from "./api.ts";

export type Topic = Part | "attention" | "overview" | "audit" | "watched";
export type LiveState = "live" | "waiting" | "offline" | "paused";

const topics: Readonly<Record<Topic, Signal<number>>> = {
  sagas: signal(0),
  outbox: signal(0),
  erasures: signal(0),
  flows: signal(0),
  webhooks: signal(0),
  attention: signal(0),
  overview: signal(0),
  audit: signal(0),
  watched: signal(0),
};
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 15_000;

const state = signal<LiveState>("waiting");
const attention = signal<Count | undefined>(undefined);
const lines = signal<readonly SagaLine[]>([]);
export const liveState: ReadonlySignal<LiveState> = state;
export const attentionCount: Signal<Count | undefined> = attention;
/** The sagas that the last notice spoke of. */
export const changedSagas: ReadonlySignal<readonly SagaLine[]> = lines;

let source: EventSource | undefined;
let watched: string | undefined;
let wanted = false;
let retryMs = RETRY_MIN_MS;
let retryTimer: ReturnType<typeof setTimeout> | undefined;

export function revisionOf(topic: Topic): number {
  return topics[topic].value;
}

/** Says that something is out of date; without a name, that everything is. */
export function invalidate(...names: readonly Topic[]): void {
  for (const name of names.length === 0 ? (Object.keys(topics) as Topic[]) : names) topics[name].value += 1;
}

export function startLive(): void {
  wanted = true;
  connect();
}

export function stopLive(): void {
  wanted = false;
  disconnect();
}

/** Also hears of one saga's every step; undefined ends that. */
export function watch(id: string | undefined): void {
  if (watched === id) return;
  watched = id;
  if (wanted && !document.hidden) connect();
}

function connect(): void {
  disconnect();
  const query = watched === undefined ? "" : `?saga=${encodeURIComponent(watched)}`;
  source = new EventSource(apiUrl(`live${query}`));
  source.addEventListener("open", () => {
    if (state.value === "offline" || state.value === "paused") invalidate();
    state.value = "live";
    retryMs = RETRY_MIN_MS;
  });
  source.addEventListener("change", (event: MessageEvent<string>) => onChange(event.data));
  source.addEventListener("reset", () => invalidate());
  source.addEventListener("error", () => {
    state.value = "offline";
    disconnect();
    // A stream does not say why it ended: a call does, whether nobody answers or the session is over.
    void get("session").catch(() => undefined);
    retryTimer = setTimeout(connect, retryMs);
    retryMs = Math.min(RETRY_MAX_MS, retryMs * 2);
  });
}

function disconnect(): void {
  clearTimeout(retryTimer);
  source?.close();
  source = undefined;
}

function onChange(data: string): void {
  let change: LiveChange;
  try {
    change = JSON.parse(data) as LiveChange;
  } catch {
    return;
  }
  if (attention.value?.value !== change.attention.value) invalidate("attention");
  attention.value = change.attention;
  lines.value = change.sagas;
  if (change.sagas.length > 0 || change.more) invalidate("sagas");
  if (change.watched.length > 0) invalidate("watched");
  if (change.parts.length > 0) invalidate(...change.parts);
  invalidate("overview");
}

document.addEventListener("visibilitychange", () => {
  if (!wanted) return;
  if (document.hidden) {
    disconnect();
    state.value = "paused";
  } else {
    connect();
  }
});
addEventListener("online", () => wanted && connect());
