/** The contract of bulk actions: what the console's pages and the command line read of them. */
import type { Instant } from "./contract.ts";

// POST api/bulk/preview with BulkItemsGiven: how many items it would take. POST api/bulk with BulkItemsGiven, a reason and an
// optional id: starts it. GET api/bulk?limit=&after=, GET api/bulk/{id}. POST api/bulk/{id}/stop with a reason; POST
// api/bulk/{id}/repeat with a reason and an optional id.
export type BulkAction = "retry" | "skip" | "resolve" | "cancel" | "requeue" | "resend";

/** Filters, of which at least one is given, or ids; and what the action itself needs. */
export interface BulkItemsGiven {
  readonly action: BulkAction;
  readonly ids?: readonly string[];
  /** Of sagas: the name, states with commas between, attributes as pairs (`tenant=acme,tier=2`). */
  readonly saga?: string;
  readonly status?: string;
  readonly attributes?: string;
  readonly error?: string;
  readonly since?: Instant;
  readonly until?: Instant;
  /** Of requeue: what the entries are, and the name of the call or the resolver. */
  readonly kind?: "call" | "erasure";
  readonly name?: string;
  /** Of resend: the id of the subscription. */
  readonly subscription?: string;
  /** Of skip: the step, and the result that later steps see. */
  readonly step?: string;
  readonly result?: unknown;
  /** Of resolve: how the sagas end. */
  readonly as?: "COMPLETED" | "FAILED";
  /** Of cancel. */
  readonly pivotDidNotHappen?: boolean;
}

export interface BulkPreview {
  readonly count: number;
  readonly exact: boolean;
  readonly sample: readonly string[];
}

export type BulkStatus = "running" | "stopping" | "completed" | "stopped";

export interface BulkLine {
  readonly id: string;
  readonly action: BulkAction;
  readonly kind: "saga" | "call" | "erasure" | "delivery";
  readonly status: BulkStatus;
  readonly reason: string;
  readonly by: string | null;
  /** Null for a list of ids. */
  readonly filter: BulkFilterLine | null;
  readonly step: string | null;
  readonly as: "COMPLETED" | "FAILED" | null;
  /** How many items there were at the start, counted up to 10,000. */
  readonly total: number;
  readonly exact: boolean;
  readonly done: number;
  readonly refused: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly endedAt: Instant | null;
  readonly stop: { readonly reason: string; readonly by: string | null } | null;
  readonly actions: readonly ("stop" | "repeat")[];
}

export interface BulkFilterLine {
  readonly saga?: string;
  readonly status?: readonly string[];
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  readonly name?: string;
  readonly subscription?: string;
  readonly error?: string;
  readonly since?: Instant;
  readonly until?: Instant;
}

export interface BulkDetail extends BulkLine {
  /** The first 100 refused items. */
  readonly refusals: readonly { readonly id: string; readonly code: string }[];
}
