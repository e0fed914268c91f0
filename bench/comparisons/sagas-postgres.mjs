import { NODE_22, withoutRedis } from "../peers.mjs";

export const name = "sagas-postgres";
export const says = "PostgreSQL: sagas of five trivial steps, each durable before the next begins";
export const rounds = 11;
export const quickRounds = 7;

export const sides = {
  amends: {
    participant: "amends-postgres",
    on: "postgres",
    lanes: 2048,
    sweep: [1, 16, 100, 500, 1000, 2048, 4096],
  },
  "one commit per step": {
    participant: "commit-per-step-postgres",
    on: "postgres",
    lanes: 16,
    sweep: [1, 4, 8, 16, 32],
  },
  DBOS: { participant: "dbos", on: "postgres", lanes: 50, warmMs: 500, sweep: [1, 16, 50, 100, 200] },
  openworkflow: {
    participant: "openworkflow-postgres",
    on: "postgres",
    lanes: 128,
    warmMs: 800,
    sweep: [2, 32, 128, 256],
  },
  Restate: { participant: "restate", node: NODE_22, lanes: 256, warmMs: 500, sweep: [16, 64, 256, 512] },
  BullMQ: {
    participant: "bullmq",
    node: NODE_22,
    missing: withoutRedis,
    lanes: 256,
    sweep: [16, 64, 256, 512],
  },
  "chain of events": { participant: "events-postgres", on: "postgres", lanes: 1000, sweep: [1, 100, 1000] },
};

const against =
  (peer, ours = "amends") =>
  (round) =>
    round[ours].steps_per_s / round[peer].steps_per_s;

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_steps_vs_commit_per_step",
    says: "PostgreSQL: steps/s against one commit per step",
    atLeast: 12,
    inReadme: true,
    of: against("one commit per step"),
  },
  {
    name: "pg_steps_vs_dbos",
    says: "PostgreSQL: steps/s against DBOS",
    atLeast: 150,
    inReadme: true,
    of: against("DBOS"),
  },
  {
    name: "pg_steps_vs_openworkflow",
    says: "PostgreSQL: steps/s against openworkflow",
    atLeast: 50,
    inReadme: true,
    of: against("openworkflow"),
  },
  {
    name: "pg_steps_vs_restate",
    says: "steps/s against Restate (one node, the same five steps)",
    atLeast: 25,
    inReadme: true,
    of: against("Restate"),
  },
  {
    name: "pg_steps_vs_bullmq",
    says: "steps/s against BullMQ (Redis that syncs every write)",
    of: against("BullMQ"),
  },
  {
    name: "pg_cpu_us_per_saga",
    says: "PostgreSQL: Node.js µs per saga of five steps, 2,048 at once",
    atMost: 55,
    inReadme: true,
    of: ({ amends }) => amends.cpu_us_per_saga,
  },
  {
    name: "pg_commits_per_saga",
    says: "PostgreSQL: commits per saga, 2,048 at once",
    atMost: 0.2,
    of: ({ amends }) => amends.commits_per_saga,
  },
  {
    name: "pg_wal_bytes_per_saga",
    says: "PostgreSQL: bytes of WAL per saga",
    atMost: 1900,
    of: ({ amends }) => amends.wal_bytes_per_saga,
  },
  {
    name: "rss_mb_at_2048",
    says: "PostgreSQL: peak memory of the process with 2,048 sagas at once, MB",
    atMost: 250,
    of: ({ amends }) => amends.peak_rss_mb,
  },
  {
    name: "pg_event_chain_vs_dbos",
    says: "PostgreSQL: a chain of five handlers against five steps of DBOS (handlers/s)",
    atLeast: 60,
    inReadme: true,
    of: against("DBOS", "chain of events"),
  },
  {
    name: "pg_event_commits_per_handler",
    says: "PostgreSQL: commits per handler, 1,000 chains at once",
    atMost: 0.3,
    of: (round) => round["chain of events"].commits_per_saga / 5,
  },
];
