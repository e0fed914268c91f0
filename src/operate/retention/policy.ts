/** How long ended items are kept, by part. Parts that are not named are kept forever. */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { flowMachine, type FlowStatus } from "../../core/flow/machine.ts";
import { refuseUnknown } from "../../core/options.ts";
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { SagaView } from "../../sagas/view/view.ts";

/** How long ended items are kept, by how they ended. Default: forever. */
export interface EndedPolicy {
  /** How long a completed item is kept after its end. Default: forever. */
  readonly completed?: Duration;
  /** How long an item that failed and was undone is kept after its end. Default: forever. */
  readonly failed?: Duration;
}

/** How long sagas are kept, and whether they are archived. */
export interface SagaPolicy extends EndedPolicy {
  /**
   * `true` moves sagas into the archive table, where the console still finds them. A function receives each batch
   * before it is removed, possibly more than once; if it throws, the batch is kept.
   */
  readonly archive?: boolean | ((sagas: readonly SagaView[]) => unknown);
  /** How long an archived saga is kept. Default: forever. */
  readonly archived?: Duration;
}

/** How long entries of the outbox are kept. */
export interface OutboxPolicy {
  /** How long entries that succeeded or were superseded are kept. */
  readonly done?: Duration;
  /** How long an event that no handler has taken is kept. */
  readonly untaken?: Duration;
}

/** How long ended items are kept, by part. A duration applies to every kind of end. */
export interface RetentionPolicy {
  /** Sagas of steps, such as `"90d"` or `{ completed: "30d", failed: "365d" }`. */
  readonly sagas?: Duration | SagaPolicy;
  /** Runs of event sagas, each with the events that were sent for it. */
  readonly flows?: Duration | EndedPolicy;
  /** Entries of the outbox, except those of runs that still exist. A duration applies to entries that are done. */
  readonly outbox?: Duration | OutboxPolicy;
  /** How long a webhook delivery is kept after its end, and an event after its last delivery. */
  readonly webhooks?: Duration;
  /** How long a bulk action is kept after its end. The records of its items stay. */
  readonly bulk?: Duration;
}

/** A state, and how long after its end whatever is in it is kept. */
export type Term<Status> = readonly [status: Status, afterMs: number];

export interface CheckedPolicy {
  readonly sagas: readonly Term<SagaStatus>[];
  readonly archive: SagaPolicy["archive"];
  readonly archivedMs: number | undefined;
  readonly flows: readonly Term<FlowStatus>[];
  readonly doneMs: number | undefined;
  readonly untakenMs: number | undefined;
  readonly webhooksMs: number | undefined;
  readonly bulkMs: number | undefined;
}

export function checkPolicy(policy: RetentionPolicy): CheckedPolicy {
  const { webhooks, bulk } = policy;
  const sagas: SagaPolicy = forEveryEnd(policy.sagas);
  const flows = forEveryEnd(policy.flows);
  const outbox: OutboxPolicy = isDuration(policy.outbox) ? { done: policy.outbox } : (policy.outbox ?? {});
  refuseUnknown(sagas, ["completed", "failed", "archive", "archived"], "The retention of sagas");
  refuseUnknown(flows, ["completed", "failed"], "The retention of flows");
  refuseUnknown(outbox, ["done", "untaken"], "The retention of the outbox");
  const ms = (given: Duration | undefined, field: string): number | undefined =>
    given === undefined ? undefined : positiveMs(given, field);
  const checked: CheckedPolicy = {
    sagas: termsOf(sagaMachine.terminal, sagas, "sagas"),
    archive: sagas.archive,
    archivedMs: ms(sagas.archived, "sagas.archived"),
    flows: termsOf(flowMachine.terminal, flows, "flows"),
    doneMs: ms(outbox.done, "outbox.done"),
    untakenMs: ms(outbox.untaken, "outbox.untaken"),
    webhooksMs: ms(webhooks, "webhooks"),
    bulkMs: ms(bulk, "bulk"),
  };
  const { archivedMs, doneMs, untakenMs, webhooksMs, bulkMs } = checked;
  const isSaid = [archivedMs, doneMs, untakenMs, webhooksMs, bulkMs].some((one) => one !== undefined);
  if (!isSaid && checked.sagas.length + checked.flows.length === 0) {
    throw new AmendsError(
      "BAD_OPTION",
      "Say how long to keep what has ended: of `sagas`, `flows`, `outbox`, `webhooks` or `bulk`, or of several.",
    );
  }
  return checked;
}

function isDuration(given: Duration | object | undefined): given is Duration {
  return typeof given === "string" || typeof given === "number";
}

function forEveryEnd<Policy extends EndedPolicy>(given: Duration | Policy | undefined): Policy | EndedPolicy {
  return isDuration(given) ? { completed: given, failed: given } : (given ?? {});
}

function termsOf<Status extends string>(
  terminal: readonly Status[],
  policy: EndedPolicy,
  field: string,
): readonly Term<Status>[] {
  return terminal.flatMap((status) => {
    const name = status.toLowerCase() as keyof EndedPolicy;
    const after = policy[name];
    return after === undefined ? [] : [[status, positiveMs(after, `${field}.${name}`)] as const];
  });
}
