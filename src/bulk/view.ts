/** What is shown of a bulk action. */
import type { BulkAction, BulkKind, BulkRefusal } from "../core/bulk/action.ts";
import type { BulkState } from "../core/bulk/machine.ts";
import type { SagaStatus } from "../core/saga/machine.ts";
import type { Attributes } from "../core/start/attributes.ts";
import type { CheckedRequest } from "./request.ts";
import type { BulkRow } from "./rows.ts";

/** The filters of a bulk action, as they were given. */
export interface BulkFilter {
  /** The name of the saga. */
  readonly saga?: string;
  /** The states of the sagas. */
  readonly status?: readonly SagaStatus[];
  /** The attributes of the sagas. */
  readonly attributes?: Attributes;
  /** The name of the call or the resolver. */
  readonly name?: string;
  /** The id of the subscription. */
  readonly subscription?: string;
  /** The label of the error. */
  readonly error?: string;
  /** The beginning of the period. */
  readonly since?: Date;
  /** The end of the period. */
  readonly until?: Date;
}

/** A bulk action and its progress. */
export interface BulkView {
  /** The id of the bulk action. It is part of the id of each item's record. */
  readonly id: string;
  /** What is done to each item. */
  readonly action: BulkAction;
  /** What the items are. */
  readonly kind: BulkKind;
  /** Whether it is carried out, or over. */
  readonly status: BulkState;
  /** Why. Every item is recorded with this reason. */
  readonly reason: string;
  /** The operator; undefined if no name was given. */
  readonly by: string | undefined;
  /** The filters; undefined for a list of ids. */
  readonly filter: BulkFilter | undefined;
  /** The step that is skipped, of `skip`. */
  readonly step: string | undefined;
  /** How the sagas end, of `resolve`. */
  readonly as: "COMPLETED" | "FAILED" | undefined;
  /** The number of items at the start, counted up to 10,000. */
  readonly total: number;
  /** False if there may have been more than `total`. */
  readonly exact: boolean;
  /** The number of items that were carried out. */
  readonly done: number;
  /** The number of items that were refused. They did not stop the others. */
  readonly refused: number;
  /** The first 100 refused items. */
  readonly refusals: readonly BulkRefusal[];
  /** When it was started, by the database's clock. Items that arose later are not taken. */
  readonly createdAt: Date;
  /** When it last made progress. */
  readonly updatedAt: Date;
  /** When it was over; undefined while it is carried out. */
  readonly endedAt: Date | undefined;
  /** Why it was stopped, and by whom; undefined if it was not. */
  readonly stop: BulkStop | undefined;
}

/** Why a bulk action was stopped. */
export interface BulkStop {
  /** The reason that the operator gave. */
  readonly reason: string;
  /** The operator; undefined if no name was given. */
  readonly by: string | undefined;
}

export function toView(row: BulkRow): BulkView {
  const { id, action, kind, status, reason, by, total, isExact: exact, done, refused, refusals } = row;
  const { createdAt, updatedAt, endedAt, stopReason, stoppedBy } = row;
  const request = JSON.parse(row.request) as CheckedRequest;
  return {
    id,
    action,
    kind,
    status,
    reason,
    by,
    filter: filterOf(request),
    step: request.step,
    as: request.as,
    total,
    exact,
    done,
    refused,
    refusals,
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
    endedAt: endedAt === undefined ? undefined : new Date(endedAt),
    stop: stopReason === undefined ? undefined : { reason: stopReason, by: stoppedBy },
  };
}

function filterOf({ filter }: CheckedRequest): BulkFilter | undefined {
  if (!filter) return undefined;
  const { names, statuses, attributes, name, subscription, error, fromMs, toMs } = filter;
  const [saga] = names ?? [];
  return {
    ...(saga !== undefined && { saga }),
    ...(statuses && { status: statuses }),
    ...(attributes && { attributes }),
    ...(name !== undefined && { name }),
    ...(subscription !== undefined && { subscription }),
    ...(error !== undefined && { error }),
    ...(fromMs !== undefined && { since: new Date(fromMs) }),
    ...(toMs !== undefined && { until: new Date(toMs) }),
  };
}
