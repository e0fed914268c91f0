import { NODE_22 } from "../peers.mjs";

export const name = "outbox";
export const says = "PostgreSQL: entries of the outbox, enqueued and drained by one worker";
export const rounds = 11;
export const quickRounds = 5;

export const sides = {
  calls: { participant: "outbox-calls", on: "postgres" },
  erasures: { participant: "outbox-amends", on: "postgres" },
  "graphile-worker": { participant: "outbox-graphile-worker", on: "postgres", node: NODE_22 },
  "pg-boss": { participant: "outbox-pg-boss", on: "postgres", node: NODE_22 },
  "one transaction per settle": { participant: "outbox-settle-each", on: "postgres" },
};

/** Against the peer that did better in that round. */
const againstPeers = (ours, figure) => (round) =>
  round[ours][figure] / Math.max(round["graphile-worker"][figure], round["pg-boss"][figure]);

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_outbox_calls_drained_vs_peers",
    says: "PostgreSQL: calls drained/s against the better of graphile-worker and pg-boss",
    atLeast: 1.8,
    inReadme: true,
    of: againstPeers("calls", "drained_per_s"),
  },
  {
    name: "pg_outbox_drained_vs_peers",
    says: "PostgreSQL: erasures drained/s, audited and completed, against the better of the two",
    atLeast: 1,
    of: againstPeers("erasures", "drained_per_s"),
  },
  {
    name: "pg_outbox_enqueued_and_drained_vs_peers",
    says: "PostgreSQL: erasures enqueued and drained/s against the better of the two",
    atLeast: 1,
    of: againstPeers("erasures", "enqueued_and_drained_per_s"),
  },
  {
    name: "pg_outbox_drained_vs_settle_each",
    says: "PostgreSQL: erasures drained/s against one transaction per settle",
    atLeast: 10,
    of: (round) => round.erasures.drained_per_s / round["one transaction per settle"].drained_per_s,
  },
];
