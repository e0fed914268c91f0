/** The states of an outbox entry, a durable call. */
import { machine, type EventOf, type Machine, type StateOf } from "../machine.ts";

const table = {
  pending: { claim: "in_flight", supersede: "superseded" },
  in_flight: {
    claim: "in_flight",
    release: "pending",
    verify: "in_flight",
    succeed: "succeeded",
    fail: "failed",
    park: "scheduled",
    abandon: "abandoned",
    supersede: "superseded",
  },
  failed: { claim: "in_flight", supersede: "superseded" },
  scheduled: { claim: "in_flight", supersede: "superseded" },
  abandoned: { requeue: "pending", resolve: "succeeded", supersede: "superseded" },
  succeeded: {},
  superseded: {},
} as const;

export const outboxMachine: Machine<typeof table> = machine(table);

/**
 * The status of an outbox entry. Statuses are stored as text and only ever added, so that rows of every release stay
 * readable.
 */
export type OutboxStatus = StateOf<typeof outboxMachine>;
export type OutboxEvent = EventOf<typeof outboxMachine>;

export const CLAIMABLE: readonly OutboxStatus[] = outboxMachine.sources("claim");

/** A subject's request waits for entries in any state that is not final. */
export const BLOCKING: readonly OutboxStatus[] = outboxMachine.states.filter(
  (state) => !outboxMachine.isTerminal(state),
);

/** The events that the holder of a claim may settle with. */
export const SETTLES = ["release", "verify", "succeed", "fail", "park", "abandon"] as const;
export type Settle = (typeof SETTLES)[number];

/** The states in which a claim is held: each settle may happen there. */
export const HELD: readonly OutboxStatus[] = outboxMachine.states.filter((state) =>
  SETTLES.every((event) => outboxMachine.sources(event).includes(state)),
);

/** The state after a settle. */
export function settled(event: Settle): OutboxStatus {
  return outboxMachine.target(HELD[0] as OutboxStatus, event) as OutboxStatus;
}

/** The state of an entry that needs no call any more: a newer entry replaced it, or its request was cancelled. */
export const SUPERSEDED: OutboxStatus = outboxMachine.target("pending", "supersede") as OutboxStatus;
