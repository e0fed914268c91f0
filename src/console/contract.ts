/**
 * The HTTP contract between browser and server. Every path is relative to where the console is mounted (`./api/…`), and
 * the pages live behind `#/`, so that nothing depends on the mount. Reads need a session; writes need the header
 * `x-amends-console: 1` as well. Instants are ISO 8601 texts. Lists are newest first and page by cursor: `next` of one
 * page is `after` of the following one, and null on the last. Reads have an ETag: with If-None-Match, what has not
 * changed is answered with 304 and no body.
 *
 * Stored values (inputs, results, references, payloads, responses) may be personal data. They arrive masked and become
 * readable by POST api/reveal alone, which needs the role `reveal` and a reason, and is audited.
 */
import type {
  DeliveryStatus,
  FlowStatus,
  HeldLine,
  OpenOutboxStatus,
  ProgressLine,
  SagaFamily,
  SagaPauseLine,
  SagaWait,
  SubscriptionBrief,
} from "./contract-parts.ts";

export type Instant = string;
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
/** What an operator may do. `read`: see everything except payloads. `operate`: act. `reveal`: see payloads. */
export type Role = "read" | "operate" | "reveal";

/** What can be said of a value without showing it. A key that is no name is shown as `…`; of progress, numbers and booleans are shown. */
export type Shape =
  | "text"
  | "number"
  | "boolean"
  | "null"
  | "…"
  | number
  | boolean
  | readonly Shape[]
  | ShapeFields;
export interface ShapeFields {
  readonly [key: string]: Shape;
}
export interface Masked {
  readonly masked: true;
  readonly shape: Shape;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}
/** Counting stops where it would cost too much: then the number is what there is at least. */
export interface Count {
  readonly value: number;
  readonly exact: boolean;
}
/** Every answer that is not 2xx. `field` names the parameter or property at fault. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
}

// GET api/session: who is signed in, and which parts there are; 401 without a session. DELETE api/session: signs out.
// POST api/session: signs in with a token. The answer sets a cookie; take the token out of the address bar.
export interface Session {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly expiresAt: Instant | null;
  /** Parts that this console does not have are left out of the navigation. */
  readonly parts: readonly Part[];
  /** Names of sagas, for filters. */
  readonly sagas: readonly string[];
  readonly version: string;
}
export type Part = "sagas" | "schedules" | "outbox" | "erasures" | "flows" | "webhooks";
export interface SignIn {
  /** From the fragment of the printed address (`#token=…`), where it works once, or as the operator types it. */
  readonly token: string;
}

// GET api/overview?window=15m|1h|6h|24h: figures for the first page. The server shares one answer among all browsers.
export interface Overview {
  readonly at: Instant;
  readonly window: Window;
  readonly bucketMs: number;
  readonly sagas: {
    readonly byStatus: Readonly<Record<SagaStatus, Count>>;
    /** Oldest first, gapless. */
    readonly buckets: readonly Bucket[];
    readonly latency: Latency;
  };
  readonly backlog: {
    /** How long the oldest due work has waited; 0 where nothing waits. */
    readonly oldestMs: number;
    readonly due: Count;
  };
  /** How many workers run, in all processes. */
  readonly workers: number;
  /** How long ago a run of `runOnce` last began, as from a cron job, in milliseconds; null if a worker was seen later. */
  readonly runMsAgo: number | null;
  /** Null where the part is missing. */
  readonly outbox: Readonly<Record<OpenOutboxStatus, Count>> | null;
  readonly flows: Readonly<Record<FlowStatus, Count>> | null;
  readonly deliveries: Readonly<Record<DeliveryStatus, Count>> | null;
  readonly attention: Count;
  /** Only where the server runs with fsync off, and `durability: "server"` accepts that. */
  readonly durability?: "server";
}
export type Window = "15m" | "1h" | "6h" | "24h";
export interface Bucket {
  readonly at: Instant;
  readonly completed: number;
  readonly failed: number;
  readonly stalled: number;
  /** False if counting stopped and the number is extrapolated from the rate. */
  readonly exact: boolean;
}
/** From start to end, of the newest `sample` sagas that completed in the window; null where there is none. */
export interface Latency {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly sample: number;
}

// GET api/overview/history?window=: what the plots begin with, from what is stored. The server shares one answer.
export interface OverviewHistory {
  readonly window: Window;
  readonly bucketMs: number;
  /** Oldest first, gapless, the stretches of the overview's buckets. */
  readonly points: readonly HistoryPoint[];
}
/** Of the newest sagas that completed in a stretch; null where none did. */
export interface HistoryPoint {
  readonly at: Instant;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** The longest that one of them had waited until a worker took it. */
  readonly waitedMs: number | null;
}

// GET api/sagas?q=&name=&status=A,B&attributes=a=1,b=x&error=&from=&to=&limit=&after=
// `q` forgives: it finds the beginning of an id, a part of a name, a status, or a field of the input as `field:value`
// (the whole value, unless one has the role `reveal`). `from` and `to` bound the last change. Archived sagas are found by
// id, name, state and time, but not by their inputs, attributes or errors. `attributes` are pairs; a value that looks like a number or
// a boolean is one, unless it is quoted. `error` is the label of why a saga failed, stalled or keeps failing.
export type SagaStatus = "PENDING" | "RUNNING" | "COMPENSATING" | "STALLED" | "COMPLETED" | "FAILED";
export interface SagaLine {
  readonly id: string;
  readonly saga: string;
  readonly status: SagaStatus;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** The later instant that its start named (`runAt`, `delay`); null if it was due at once, and in lists of the archive. */
  readonly runAt: Instant | null;
  /** True while that instant has not come. */
  readonly isScheduled: boolean;
  /** It is paused by itself; a pause of its name does not show in lists. */
  readonly isPaused: boolean;
  /** What it was started with, to be found by. They are shown: they hold no personal data. Empty in lists of the archive. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** From its creation, or from `runAt`, to its last change. */
  readonly durationMs: number;
  /** How often another worker took it over from one that had crashed or lost its lease. */
  readonly recoveries: number;
  /** In their order. */
  readonly steps: readonly StepLine[];
  /** The label of the last error, never a message; null where there is none. */
  readonly lastError: string | null;
  /** When retention moved it into the archive; null while it is where it ran. */
  readonly archivedAt: Instant | null;
}
export interface StepLine {
  readonly name: string;
  /** Null in the archive: lists do not read its logs. */
  readonly state:
    | "none"
    | "running"
    | "retrying"
    | "done"
    | "failed"
    | "skipped"
    | "undoing"
    | "undone"
    | "undo-failed"
    | null;
}
/** A search may look at a part only: then `searchedTo` says how far back it came, and `next` goes on from there. */
export interface SagaPage extends Page<SagaLine> {
  readonly searchedTo: Instant | null;
}

// GET api/sagas/{id}
export interface SagaDetail extends SagaLine {
  /** The version of its definition. */
  readonly version: number;
  /** Rises with everything that happens. Hand it to an action, and it is refused if more has happened since. */
  readonly revision: number;
  /** 0 to 10: a higher one is claimed first. */
  readonly priority: number;
  readonly input: Masked;
  /** By step. */
  readonly results: Readonly<Record<string, Masked>>;
  readonly dueAt: Instant | null;
  /** The signal, the event or the time that it waits for; null if it does not wait. */
  readonly waiting: SagaWait | null;
  readonly family: SagaFamily;
  /** The limits by key that hold it back, although it is due. */
  readonly heldBy: readonly HeldLine[];
  /** A call that had not returned within its time limit when its worker last wrote: it may still take effect. */
  readonly running: { readonly step: string; readonly since: Instant } | null;
  readonly owner: string | null;
  readonly paused: SagaPauseLine | null;
  /** What its calls have reported of their progress, as it was last stored. */
  readonly progress: readonly ProgressLine[];
  readonly error: Trouble | null;
  readonly undoErrors: readonly (Trouble & { readonly step: string })[];
  /** Why it waits for a person; null unless it is STALLED. */
  readonly stalled: string | null;
  readonly actions: readonly SagaAction[];
  readonly skippable: readonly string[];
  readonly timeline: readonly TimelineLine[];
  readonly graph: Graph;
  readonly mermaid: { readonly sequence: string; readonly state: string };
}
export interface Trouble {
  readonly kind: string;
  /** A label, never a message. */
  readonly label: string;
  /** What an act returned as its Err. */
  readonly value?: Masked;
}
export interface TimelineLine {
  readonly at: Instant;
  readonly name: string;
  readonly kind: "step" | "control";
  readonly action: "act" | "compensate";
  readonly status: "STARTED" | "COMPLETED" | "FAILED";
  readonly note: string | null;
  readonly by: string | null;
  readonly step: string | null;
}
/** The steps as a picture: acts from start to end, undos as the way back. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}
export interface GraphNode {
  /** `start`, `act:NAME`, `undo:NAME`, `completed`, `failed`. */
  readonly id: string;
  readonly kind: "start" | "act" | "undo" | "end";
  readonly step: string | null;
  readonly label: string;
  readonly pivot: boolean;
  /** Steps of the same group act at the same time; null for a step by itself. */
  readonly group: string | null;
  readonly state: "none" | "running" | "retrying" | "done" | "failed" | "skipped";
  readonly attempts: number;
  /** Of the last try; null where it has not begun, or not ended. */
  readonly startedAt: Instant | null;
  readonly endedAt: Instant | null;
}
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: "forward" | "turn" | "back";
  /** The run took this edge. */
  readonly taken: boolean;
}

// POST api/sagas/{id}/cancel, /retry, /skip, /resolve, /reverse, /pause, /resume: answers with the SagaDetail as it then is.
export type SagaAction = OpenSagaAction | "reverse";
export type OpenSagaAction = "retry" | "skip" | "resolve" | "cancel";
export interface ActionNote {
  /** 1 to 1,000 characters: it is audited. */
  readonly reason: string;
  /** Refuse if the saga is no longer at this revision. */
  readonly revision?: number;
}
export interface SkipAction extends ActionNote {
  readonly step: string;
  /** What the act would have returned, for the steps after it. */
  readonly result?: Json;
}
export interface ResolveAction extends ActionNote {
  readonly as: "COMPLETED" | "FAILED";
}

// POST api/reveal: one stored value, readable. Needs the role `reveal`.
export interface RevealRequest {
  readonly kind: "saga" | "schedule" | "entry" | "flow" | "event" | "delivery" | "attempt";
  readonly id: string;
  readonly reason: string;
}
export interface Revealed {
  /** saga: input, results, error, progress (by `act STEP` or `compensate STEP`) · schedule: input · entry: ref, payload · flow: error · event: data · delivery: payload · attempt: response. */
  readonly fields: Readonly<Record<string, Json>>;
}

// GET api/attention?kind=&limit=&after=: what needs a person, oldest first.
export type AttentionKind =
  | "stalled-saga"
  | "failing-saga"
  | "excluded-saga"
  | "lost-saga"
  | "stalled-run"
  | "abandoned-entry"
  | "abandoned-call"
  | "abandoned-event"
  | "dead-letter"
  | "disabled-subscription"
  | "overdue-erasure"
  | "unserved-kind"
  | "unserved-handler"
  | "overdue-schedule"
  | "refused-write";
export type AttentionAction =
  | OpenSagaAction
  | "requeue"
  | "resend"
  | "dismiss"
  | "enable"
  | "unsubscribe"
  | "pause"
  | "remove"
  | "retire";
export interface AttentionLine {
  readonly kind: AttentionKind;
  /** Of the saga, run, entry, delivery, subscription or subject: the actions take it. */
  readonly id: string;
  /** The saga's name, the resolver, the event's type … */
  readonly name: string;
  readonly since: Instant;
  /** What is wrong, in a sentence. */
  readonly reason: string;
  readonly actions: readonly AttentionAction[];
  /** Of a stalled or failing saga: the steps that may be skipped. */
  readonly skippable: readonly string[];
  /** Of a stalled saga: whether a skip is of the undos of these steps, or of their acts. */
  readonly skips?: "act" | "undo";
  /** Of a stalled run. */
  readonly processId?: string;
  /** Of a dead letter or a disabled subscription. */
  readonly subscription?: SubscriptionBrief;
}
// GET api/attention/count
export interface AttentionCount {
  readonly total: Count;
  readonly kinds: Readonly<Record<AttentionKind, Count>>;
}

// GET api/audit?by=&action=&target=&limit=&after=: what people did here.
export interface ActionLine {
  readonly id: string;
  readonly at: Instant;
  readonly by: string;
  readonly action: string;
  readonly target: { readonly kind: string; readonly id: string };
  readonly reason: string;
  /** `asked` if the outcome is unknown, because the process ended before it was recorded. */
  readonly outcome: "asked" | "done" | "refused";
  readonly code: string | null;
}
// GET api/audit/events?subject=&type=&limit=&after=: a Page of AuditEventLine, newest first.
// GET api/live?saga=ID: server-sent events. `Last-Event-ID` resumes; after `reset` load everything again.
// event: change, data: LiveChange · event: reset, data: {} · a comment line every 15 seconds.
export interface LiveChange {
  readonly at: Instant;
  readonly attention: Count;
  /** Sagas that changed, newest first, 100 at most. */
  readonly sagas: readonly SagaLine[];
  /** More changed than are listed: load the list again. */
  readonly more: boolean;
  /** Sagas that a browser watches, by their new revision: load them again. */
  readonly watched: readonly { readonly id: string; readonly revision: number }[];
  /** Other parts in which something changed. */
  readonly parts: readonly Part[];
}

// GET api/health: 200 while the process answers. GET api/ready: 200 or 503. Both without a session.
// GET api/metrics: Prometheus text. GET api/openapi.json: this contract as an OpenAPI document.
export interface Health {
  readonly status: "ok" | "stuck";
  /** The number of workers that run anywhere. With a session only; null if the database does not answer. */
  readonly workers?: number | null;
  /**
   * How long ago the most silent of these workers was last heard, in milliseconds; null if none runs. With a session
   * only. Workers say every 15 seconds that they run; one that was killed counts for a minute.
   */
  readonly silentMs?: number | null;
  /**
   * How long ago a run of `runOnce` last began, as from a cron job, in milliseconds; null if a worker was seen later. With a session
   * only.
   */
  readonly runMsAgo?: number | null;
  /** With a session only. */
  readonly checks?: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}
