/** How long what has ended is kept, part by part. What is not named is kept for ever. */
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { flowMachine, type FlowStatus } from "../core/flow/machine.ts";
import { refuseUnknown } from "../core/options.ts";
import { sagaMachine, type SagaStatus } from "../core/saga/machine.ts";
import type { SagaView } from "../sagas/view/view.ts";

export interface EndedPolicy {
  /** How long after its end one that completed is kept. */
  readonly completed?: Duration;
  /** How long after its end one that failed, and was undone, is kept. */
  readonly failed?: Duration;
}

export interface SagaPolicy extends EndedPolicy {
  /**
   * `true` moves sagas into the archive's own table, where the console still finds them. A function is given each batch
   * before it is removed, perhaps more than once; what it throws keeps the batch.
   */
  readonly archive?: boolean | ((sagas: readonly SagaView[]) => unknown);
  /** How long an archived saga is kept. For ever unless said otherwise. */
  readonly archived?: Duration;
}

export interface OutboxPolicy {
  /** How long what is done with is kept: entries that succeeded or were superseded. */
  readonly done?: Duration;
  /** How long an event waits for somebody who takes it. */
  readonly untaken?: Duration;
}

export interface RetentionPolicy {
  readonly sagas?: SagaPolicy;
  /** Runs of event sagas, each with the events that were sent for it. */
  readonly flows?: EndedPolicy;
  /** Entries of the outbox, but for those of runs that are still there. */
  readonly outbox?: OutboxPolicy;
  /** How long after its end a webhook delivery is kept, and after its last delivery an event. */
  readonly webhooks?: Duration;
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
}

export function checkPolicy({
  sagas = {},
  flows = {},
  outbox = {},
  webhooks,
}: RetentionPolicy): CheckedPolicy {
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
  };
  const { archivedMs, doneMs, untakenMs, webhooksMs } = checked;
  const isSaid = [archivedMs, doneMs, untakenMs, webhooksMs].some((one) => one !== undefined);
  if (!isSaid && checked.sagas.length + checked.flows.length === 0) {
    throw new AmendsError(
      "BAD_OPTION",
      "Say how long to keep what has ended: of `sagas`, `flows`, `outbox` or `webhooks`, or of several.",
    );
  }
  return checked;
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
