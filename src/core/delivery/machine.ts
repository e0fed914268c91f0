/**
 * The machines of webhook delivery. A delivery is one event for one subscription; a job is one attempt of it. The
 * labels are stored in the tables.
 */
import { machine, type EventOf, type Machine, type StateOf } from "../machine.ts";

const deliveries = {
  Pending: { createJob: "InProgress" },
  InProgress: { succeed: "Completed", fail: "PendingRetry", exhaust: "DeadLettered" },
  PendingRetry: { createJob: "InProgress", exhaust: "DeadLettered" },
  Completed: {},
  DeadLettered: {},
} as const;

export const deliveryMachine: Machine<typeof deliveries> = machine(deliveries);

/**
 * The status of a delivery. Pending: not tried yet. InProgress: an attempt is under way. PendingRetry: waits for
 * the next attempt. Completed: the receiver has it. DeadLettered: no attempts left, now a dead letter.
 */
export type DeliveryStatus = StateOf<typeof deliveryMachine>;

/** Deliveries without a job: they wait until they are due. */
export const WAITING: readonly DeliveryStatus[] = deliveryMachine.sources("createJob");

/** At most one delivery of an event to a subscription is in one of these. */
export const OPEN: readonly DeliveryStatus[] = deliveryMachine.states.filter(
  (state) => !deliveryMachine.isTerminal(state),
);

const jobs = {
  Pending: { lease: "Leased" },
  Leased: { lease: "Leased", release: "Pending", complete: "Completed", fail: "Failed" },
  Completed: {},
  Failed: {},
} as const;

export const jobMachine: Machine<typeof jobs> = machine(jobs);

export type JobStatus = StateOf<typeof jobMachine>;

/** A delivery has at most one job in these. */
export const ACTIVE: readonly JobStatus[] = jobMachine.sources("lease");

const subscriptions = {
  Active: { pause: "Paused", disable: "Disabled", delete: "Deleted" },
  Paused: { enable: "Active", disable: "Disabled", delete: "Deleted" },
  Disabled: { enable: "Active", delete: "Deleted" },
  Deleted: {},
} as const;

export const subscriptionMachine: Machine<typeof subscriptions> = machine(subscriptions);

/**
 * The status of a subscription. Active: events are delivered. Paused: deliveries wait. Disabled: events are no longer
 * routed to it. Deleted: it has ended.
 */
export type SubscriptionStatus = StateOf<typeof subscriptionMachine>;
export type SubscriptionEvent = EventOf<typeof subscriptionMachine>;

/** Events are routed to subscriptions in these states. Deliveries of a paused subscription wait. */
export const ROUTED: readonly SubscriptionStatus[] = subscriptionMachine.sources("disable");

const deadLetters = {
  Open: { requeue: "Requeued", dismiss: "Dismissed" },
  Requeued: {},
  Dismissed: {},
} as const;

export const deadLetterMachine: Machine<typeof deadLetters> = machine(deadLetters);

/**
 * The status of a dead letter. Open: needs an operator. Requeued: a new delivery replaces it. Dismissed: settled
 * without sending.
 */
export type DeadLetterStatus = StateOf<typeof deadLetterMachine>;
