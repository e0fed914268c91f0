/**
 * The machines of webhook delivery. A delivery is what one event owes one subscription; a job is one try of it. The
 * labels are those of the sources, because they stand in the tables.
 */
import { machine, type StateOf } from "../machine.ts";

export const deliveryMachine = machine({
  Pending: { createJob: "InProgress" },
  InProgress: { succeed: "Completed", fail: "PendingRetry", exhaust: "DeadLettered" },
  PendingRetry: { createJob: "InProgress", exhaust: "DeadLettered" },
  Completed: {},
  DeadLettered: {},
});

export type DeliveryStatus = StateOf<typeof deliveryMachine>;

/** No job is under way: these wait for their time. */
export const WAITING: readonly DeliveryStatus[] = deliveryMachine.sources("createJob");

/** At most one delivery of an event to a subscription is in one of these. */
export const OPEN: readonly DeliveryStatus[] = deliveryMachine.states.filter(
  (state) => !deliveryMachine.isTerminal(state),
);

export const jobMachine = machine({
  Pending: { lease: "Leased" },
  Leased: { lease: "Leased", release: "Pending", complete: "Completed", fail: "Failed" },
  Completed: {},
  Failed: {},
});

export type JobStatus = StateOf<typeof jobMachine>;

/** A delivery has at most one job in these. */
export const ACTIVE: readonly JobStatus[] = jobMachine.sources("lease");

export const subscriptionMachine = machine({
  Active: { pause: "Paused", disable: "Disabled", delete: "Deleted" },
  Paused: { enable: "Active", disable: "Disabled", delete: "Deleted" },
  Disabled: { enable: "Active", delete: "Deleted" },
  Deleted: {},
});

export type SubscriptionStatus = StateOf<typeof subscriptionMachine>;

/** Events are routed to these: what can still be disabled has not been. What a paused one is owed waits. */
export const ROUTED: readonly SubscriptionStatus[] = subscriptionMachine.sources("disable");

export const deadLetterMachine = machine({
  Open: { requeue: "Requeued", dismiss: "Dismissed" },
  Requeued: {},
  Dismissed: {},
});

export type DeadLetterStatus = StateOf<typeof deadLetterMachine>;
