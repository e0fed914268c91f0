/** One entry of the outbox: a durable call that awaits its execution, or is done with it. */
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

/** What a subject's request still waits for: an entry in any state that something can leave. */
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

/** Where a settle leads. */
export function settled(event: Settle): OutboxStatus {
  return outboxMachine.target(HELD[0] as OutboxStatus, event) as OutboxStatus;
}

/** What is done with although nobody has done it: something else has taken its place, or nobody waits for it. */
export const SUPERSEDED: OutboxStatus = outboxMachine.target("pending", "supersede") as OutboxStatus;
