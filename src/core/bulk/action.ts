/** What a bulk action does, and to which kind of items: the single actions of operators, under their names. */
import type { SagaStatus } from "../saga/machine.ts";

/** The actions on sagas, on abandoned outbox entries, and on dead webhook deliveries. */
export const BULK_ACTIONS = ["retry", "skip", "resolve", "cancel", "requeue", "resend"] as const;

/** What is done to each item. */
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** What an item is: a saga, an abandoned call or erasure of the outbox, or a webhook delivery. */
export const BULK_KINDS = ["saga", "call", "erasure", "delivery"] as const;

/** The kind of the items. */
export type BulkKind = (typeof BULK_KINDS)[number];

/** The actions on sagas, each with the states of sagas that it may fit. The first ones are meant if a filter names no state. */
export const SAGA_STATES: Readonly<Record<"retry" | "skip" | "resolve" | "cancel", readonly SagaStatus[]>> = {
  retry: ["STALLED"],
  skip: ["STALLED", "RUNNING"],
  resolve: ["STALLED", "RUNNING"],
  cancel: ["PENDING", "RUNNING", "STALLED"],
};

/** A saga that runs is skipped or resolved only if a filter asks for it: it fits while a step behind its pivot fails or waits. */
export const DEFAULT_STATES: typeof SAGA_STATES = { ...SAGA_STATES, skip: ["STALLED"], resolve: ["STALLED"] };

/** The most ids that one bulk action takes. */
export const IDS_MAX = 10_000;

/** The number of items that a worker carries out between two looks at the action. */
export const PAGE_SIZE = 50;

/** The number of refused items that are kept with their reasons. All are counted and on record. */
export const REFUSALS_KEPT = 100;

/** An item that was refused. */
export interface BulkRefusal {
  /** The id of the item. */
  readonly id: string;
  /** The error code, such as `NOT_ALLOWED_NOW`. */
  readonly code: string;
}

/** The id of the record of one item: it names the bulk action, and the item has one record in each. */
export function itemRecordId(bulkId: string, itemId: string): string {
  return `bulk:${bulkId}:${itemId}`;
}
