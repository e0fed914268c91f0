const finished = 1_000_000;
const databases = ["empty", "filled"];

export const name = "finished-rows";
export const says = "PostgreSQL: claims beside 1,000,000 finished rows against empty tables";
export const rounds = 11;

export const sides = {
  sagas: { participant: "claim-postgres", databases, finished },
  outbox: { participant: "outbox-claim", databases, finished },
  webhooks: { participant: "webhooks-claim-postgres", databases, finished },
  console: { participant: "console-postgres", databases: ["few", "many"], few: 10_000, many: finished },
};

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_claim_1m_finished_vs_empty",
    says: "PostgreSQL: claiming beside 1,000,000 finished sagas against an empty table (time)",
    atMost: 1.25,
    of: ({ sagas }) => sagas.beside_finished_us_per_saga / sagas.empty_us_per_saga,
  },
  {
    name: "pg_outbox_claim_1m_finished_vs_empty",
    says: "PostgreSQL: claiming beside 1,000,000 finished entries against an empty outbox (time)",
    atMost: 1.25,
    of: ({ outbox }) => outbox.beside_finished_us_per_entry / outbox.empty_us_per_entry,
  },
  {
    name: "pg_outbox_status_counts_statements",
    says: "PostgreSQL: statements to count 1,000,000 entries by status",
    atMost: 1,
    of: ({ outbox }) => outbox.status_counts_statements,
  },
  {
    name: "webhooks_claim_1m_finished_vs_empty",
    says: "Webhooks: delivering beside 1,000,000 finished deliveries against empty tables (time)",
    atMost: 1.25,
    of: ({ webhooks }) => webhooks.beside_finished_us_per_delivery / webhooks.empty_us_per_delivery,
  },
  {
    name: "pg_console_1m_vs_10k",
    says: "PostgreSQL: the console's first page among 1,000,000 sagas against 10,000 (database time, the worst call)",
    atMost: 2,
    of: ({ console }) => console.worst_growth,
  },
  {
    name: "pg_console_slowest_ms",
    says: "PostgreSQL: the slowest call of the console's first page among 1,000,000 sagas (ms of the database)",
    atMost: 50,
    of: ({ console }) => console.slowest_ms,
  },
];
