// What the benchmark is asked for: each line takes the figures of one run and gives one number. Throughput is compared at
// the best setting that each side found, round by round, and the median of the rounds counts.
import { median } from "./statistics.mjs";

/**
 * @typedef {import("./rounds.mjs").Figures} Figures
 *
 * @typedef {object} Ratio
 * @property {string} name
 * @property {string} says
 * @property {number} [atLeast]
 * @property {number} [atMost]
 * @property {(figures: Figures) => number | undefined} of
 */

/** @type {Ratio[]} */
export const ratios = [
  {
    name: "pg_steps_vs_commit_per_step",
    says: "PostgreSQL: steps/s against one commit per step",
    atLeast: 8,
    of: (figures) => throughput(figures, "amends-postgres", "commit-per-step-postgres"),
  },
  {
    name: "pg_steps_vs_dbos",
    says: "PostgreSQL: steps/s against DBOS",
    atLeast: 50,
    of: (figures) => throughput(figures, "amends-postgres", "dbos"),
  },
  {
    name: "pg_steps_vs_openworkflow",
    says: "PostgreSQL: steps/s against openworkflow",
    atLeast: 50,
    of: (figures) => throughput(figures, "amends-postgres", "openworkflow-postgres"),
  },
  {
    name: "pg_lone_saga_vs_bare_commits",
    says: "PostgreSQL: a lone saga against N + 1 bare commits (median time)",
    atMost: 1.5,
    of: ({ "lone-postgres": lone }) => perRound(lone?.saga_ms_p50, lone?.bare_commits_ms_p50),
  },
  {
    name: "pg_commits_per_saga",
    says: "PostgreSQL: commits per saga under load",
    atMost: 0.2,
    of: (figures) => atBest(figures, "amends-postgres", "commits_per_saga"),
  },
  {
    name: "pg_wal_bytes_per_saga",
    says: "PostgreSQL: bytes of WAL per saga",
    atMost: 2560,
    of: (figures) => atBest(figures, "amends-postgres", "wal_bytes_per_saga"),
  },
  {
    name: "sqlite_steps_vs_commit_per_step",
    says: "SQLite: steps/s against one commit per step",
    atLeast: 5,
    of: (figures) => throughput(figures, "amends-sqlite", "commit-per-step-sqlite"),
  },
  {
    name: "sqlite_steps_vs_openworkflow",
    says: "SQLite: steps/s against openworkflow",
    atLeast: 50,
    of: (figures) => throughput(figures, "amends-sqlite", "openworkflow-sqlite"),
  },
  {
    name: "pg_claim_1m_finished_vs_empty",
    says: "PostgreSQL: claiming beside 1,000,000 finished sagas against an empty table (time)",
    atMost: 1.25,
    of: ({ "claim-postgres": claim }) =>
      perRound(claim?.beside_finished_us_per_saga, claim?.empty_us_per_saga),
  },
  {
    name: "pg_console_1m_vs_10k",
    says: "PostgreSQL: the console's first page among 1,000,000 sagas against 10,000 (database time, the worst call)",
    atMost: 2,
    of: ({ "console-postgres": console }) => console?.worst_growth.median,
  },
  {
    name: "pg_console_slowest_ms",
    says: "PostgreSQL: the slowest call of the console's first page among 1,000,000 sagas (ms of the database)",
    atMost: 50,
    of: ({ "console-postgres": console }) => console?.slowest_ms.median,
  },
  {
    name: "pg_outbox_calls_drained_vs_peers",
    says: "PostgreSQL: calls drained/s against the better of graphile-worker and pg-boss",
    atLeast: 1,
    of: (figures) => drained(figures, "outbox-calls", "drained_per_s"),
  },
  {
    name: "pg_outbox_drained_vs_peers",
    says: "PostgreSQL: erasures drained/s, audited and completed, against the better of the two",
    atLeast: 1,
    of: (figures) => drained(figures, "outbox-amends", "drained_per_s"),
  },
  {
    name: "pg_outbox_enqueued_and_drained_vs_peers",
    says: "PostgreSQL: erasures enqueued and drained/s against the better of the two",
    atLeast: 1,
    of: (figures) => drained(figures, "outbox-amends", "enqueued_and_drained_per_s"),
  },
  {
    name: "pg_outbox_drained_vs_settle_each",
    says: "PostgreSQL: erasures drained/s against one transaction per settle",
    atLeast: 10,
    of: ({ "outbox-amends": ours, "outbox-settle-each": theirs }) =>
      perRound(ours?.drained_per_s, theirs?.drained_per_s),
  },
  {
    name: "pg_outbox_claim_1m_finished_vs_empty",
    says: "PostgreSQL: claiming beside 1,000,000 finished entries against an empty outbox (time)",
    atMost: 1.25,
    of: ({ "outbox-claim": claim }) =>
      perRound(claim?.beside_finished_us_per_entry, claim?.empty_us_per_entry),
  },
  {
    name: "pg_outbox_status_counts_statements",
    says: "PostgreSQL: statements to count 1,000,000 entries by status",
    atMost: 1,
    of: ({ "outbox-claim": claim }) => claim?.status_counts_statements.median,
  },
  {
    name: "pg_event_chain_vs_dbos",
    says: "PostgreSQL: a chain of five handlers against five steps of DBOS (handlers/s)",
    atLeast: 30,
    of: (figures) => throughput(figures, "events-postgres", "dbos"),
  },
  {
    name: "pg_event_commits_per_handler_lone",
    // Those for which a disk is waited for: what a worker looks for now and then, and does not find, is none.
    says: "PostgreSQL: durable commits per handler, one chain at a time",
    atMost: 1.2,
    of: ({ "events-postgres": events }) => perHandler(events?.["at_1.durable_commits_per_saga"]),
  },
  {
    name: "pg_event_commits_per_handler_loaded",
    says: "PostgreSQL: commits per handler, 1,000 chains at once",
    atMost: 0.3,
    of: ({ "events-postgres": events }) => perHandler(events?.["at_1000.commits_per_saga"]),
  },
  {
    name: "pg_publish_vs_bare_inserts",
    says: "PostgreSQL: publishing 10,000 events in one transaction against bare multi-row inserts (events/s)",
    atLeast: 0.5,
    of: ({ "publish-postgres": publish }) => perRound(publish?.published_per_s, publish?.bare_inserts_per_s),
  },
  {
    name: "rss_mb_at_2048",
    says: "PostgreSQL: peak memory of the process with 2,048 sagas at once, MB",
    atMost: 250,
    of: ({ "amends-postgres": amends }) =>
      amends?.["at_2048.peak_rss_mb"] && Math.max(...amends["at_2048.peak_rss_mb"].rounds),
  },
  {
    name: "webhooks_deliveries_vs_bare_client",
    says: "Webhooks: deliveries/s against the same HTTP client with the same signed requests and no database",
    atLeast: 0.5,
    of: ({ "webhooks-postgres": webhooks }) =>
      perRound(webhooks?.deliveries_per_s, webhooks?.bare_requests_per_s),
  },
  {
    name: "webhooks_cpu_vs_bare_client",
    says: "Webhooks: processor time of the worker per delivery against that client's per request",
    atMost: 2,
    of: ({ "webhooks-postgres": webhooks }) =>
      perRound(webhooks?.cpu_us_per_delivery, webhooks?.bare_cpu_us_per_request),
  },
  {
    name: "webhooks_commits_per_delivery",
    says: "Webhooks: commits per delivery under load",
    atMost: 0.5,
    of: ({ "webhooks-postgres": webhooks }) => webhooks?.commits_per_delivery?.median,
  },
  {
    name: "webhooks_lone_commits_per_delivery",
    says: "Webhooks: commits per delivery one at a time, looks included",
    atMost: 3,
    of: ({ "webhooks-postgres": webhooks }) => webhooks?.lone_commits_per_delivery?.median,
  },
  {
    name: "webhooks_beside_dead_endpoint",
    says: "Webhooks: deliveries/s beside one dead endpoint in a hundred",
    atLeast: 0.9,
    of: ({ "webhooks-postgres": webhooks }) =>
      perRound(webhooks?.beside_dead_per_s, webhooks?.deliveries_per_s),
  },
  {
    name: "webhooks_claim_1m_finished_vs_empty",
    says: "Webhooks: delivering beside 1,000,000 finished deliveries against empty tables (time)",
    atMost: 1.25,
    of: ({ "webhooks-claim-postgres": claim }) =>
      perRound(claim?.beside_finished_us_per_delivery, claim?.empty_us_per_delivery),
  },
];

/** @param {Figures} figures */
export function computeRatios(figures) {
  return Object.fromEntries(ratios.map(({ name, of }) => [name, of(figures) ?? null]));
}

/** @param {Ratio} ratio @param {number | null} value */
export function holds({ atLeast = -Infinity, atMost = Infinity }, value) {
  return value !== null && value >= atLeast && value <= atMost;
}

function throughput(figures, ours, theirs) {
  return perRound(atBestSetting(figures[ours], "steps_per_s"), atBestSetting(figures[theirs], "steps_per_s"));
}

function atBest(figures, workload, figure) {
  return atBestSetting(figures[workload], figure)?.median;
}

/** Against the peer that did better in that round. */
function drained(figures, ours, figure) {
  const peers = ["outbox-graphile-worker", "outbox-pg-boss"].map((peer) => figures[peer]?.[figure]);
  if (peers.includes(undefined)) return undefined;
  const best = peers[0].rounds.map((value, round) => Math.max(value, peers[1].rounds[round] ?? 0));
  return perRound(figures[ours]?.[figure], { rounds: best });
}

/** A workload's figure at the setting where it did the most steps per second. */
function atBestSetting(figures = {}, wanted) {
  const speeds = Object.entries(figures).filter(([name]) => name.endsWith(".steps_per_s"));
  if (speeds.length === 0) return undefined;
  const [fastest] = speeds.reduce((best, next) => (next[1].median > best[1].median ? next : best));
  return figures[`${fastest.slice(0, -".steps_per_s".length)}.${wanted}`];
}

/** A chain has five handlers. */
function perHandler(figure) {
  return figure && figure.median / 5;
}

function perRound(ours, theirs) {
  if (!ours || !theirs) return undefined;
  const pairs = Math.min(ours.rounds.length, theirs.rounds.length);
  return median(Array.from({ length: pairs }, (_, round) => ours.rounds[round] / theirs.rounds[round]));
}
