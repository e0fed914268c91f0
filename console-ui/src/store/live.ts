/**
 * Live updates. One stream serves the whole page; a notice only says which data is out of date, and the components that
 * show that data load it again. The stream is closed while the tab is hidden, and everything counts as changed after it.
 */
import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { LiveChange, Part, SagaLine } from "../../../src/console/contract.ts";
import { apiUrl, get } from "./api.ts";
import { recordAttention } from "./attention-count.ts";

export type Topic = Part | "attention" | "overview" | "audit" | "watched";
export type LiveState = "live" | "waiting" | "offline" | "paused";

/** How often a topic changed: by notices of the server, and by actions of this page, which are shown at once. */
interface Revisions {
  readonly notices: Signal<number>;
  readonly actions: Signal<number>;
}

const revisions = (): Revisions => ({ notices: signal(0), actions: signal(0) });

const topics: Readonly<Record<Topic, Revisions>> = {
  sagas: revisions(),
  schedules: revisions(),
  outbox: revisions(),
  erasures: revisions(),
  flows: revisions(),
  webhooks: revisions(),
  attention: revisions(),
  overview: revisions(),
  audit: revisions(),
  watched: revisions(),
};
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 15_000;

const state = signal<LiveState>("waiting");
const lines = signal<readonly SagaLine[]>([]);
export const liveState: ReadonlySignal<LiveState> = state;
/** The sagas of the last notice. */
export const changedSagas: ReadonlySignal<readonly SagaLine[]> = lines;

let source: EventSource | undefined;
let watched: string | undefined;
let wanted = false;
let retryMs = RETRY_MIN_MS;
let retryTimer: ReturnType<typeof setTimeout> | undefined;

export function revisionOf(topic: Topic): { readonly notices: number; readonly actions: number } {
  const { notices, actions } = topics[topic];
  return { notices: notices.value, actions: actions.value };
}

/** The server changed something; without a name, everything. */
export function invalidate(...names: readonly Topic[]): void {
  for (const name of names.length === 0 ? (Object.keys(topics) as Topic[]) : names)
    topics[name].notices.value += 1;
}

/** An action of this page changed something: the operator waits to see it. */
export function invalidateNow(...names: readonly Topic[]): void {
  for (const name of names) topics[name].actions.value += 1;
}

export function startLive(): void {
  wanted = true;
  connect();
}

export function stopLive(): void {
  wanted = false;
  disconnect();
}

/** Also reports every step of one saga; undefined ends that. */
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
    // A stream does not say why it ended: a call does, whether the server is away or the session is over.
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
  const hasStalled = change.sagas.some(({ status }) => status === "STALLED");
  if (recordAttention(change.attention, change.at) || hasStalled) invalidate("attention");
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
