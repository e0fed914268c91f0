/** The handlers that are registered in the database: what kinds there are, and under which name their deliveries are stored. */

/**
 * `step`: the handler does a step of a saga, so its event goes to a process that has the saga. `undo`: the handler takes a
 * command that undoes a step.
 */
export const SUBSCRIPTION_KINDS = ["handler", "consumer", "step", "undo"] as const;
export type SubscriptionKind = (typeof SUBSCRIPTION_KINDS)[number];

/** The deliveries of a saga are stored under its name with this in front. */
const SAGA_PREFIX = "$saga.";

/** The name under which the events for a saga's steps are stored until a process that has the saga takes them. */
export function sagaRecipient(saga: string): string {
  return `${SAGA_PREFIX}${saga}`;
}

/** The saga that a delivery is for, if it is for a saga and not for a handler. */
export function sagaOfRecipient(recipient: string): string | undefined {
  return recipient.startsWith(SAGA_PREFIX) ? recipient.slice(SAGA_PREFIX.length) : undefined;
}
