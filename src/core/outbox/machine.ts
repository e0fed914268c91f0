/** One entry of the outbox: a durable call that awaits its execution, or is done with it. */
import { machine, type Machine, type StateOf } from "../machine.ts";

const table = {
  pending: { claim: "in_flight", supersede: "superseded" },
  in_flight: {
    claim: "in_flight",
    release: "pending",
    succeed: "succeeded",
    fail: "failed",
    park: "scheduled",
    abandon: "abandoned",
    supersede: "superseded",
  },
  failed: { claim: "in_flight", supersede: "superseded" },
  scheduled: { claim: "in_flight", supersede: "superseded" },
  abandoned: { requeue: "pending", supersede: "superseded" },
  succeeded: {},
  superseded: {},
} as const;

export const outboxMachine: Machine<typeof table> = machine(table);

/** Stored as text, and only ever added to: rows of every release stay readable. */
export type OutboxStatus = StateOf<typeof outboxMachine>;

export const CLAIMABLE: readonly OutboxStatus[] = outboxMachine.sources("claim");
