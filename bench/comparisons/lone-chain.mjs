export const name = "lone-chain";
export const says = "PostgreSQL: one chain of five handlers at a time";
export const rounds = 3;
export const quickRounds = 3;

export const sides = { chain: { participant: "events-postgres", on: "postgres", lanes: 1 } };

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_event_commits_per_handler_lone",
    // Those for which a disk is waited for: what a worker looks for now and then, and does not find, is none.
    says: "PostgreSQL: durable commits per handler, one chain at a time",
    atMost: 1.2,
    of: ({ chain }) => chain.durable_commits_per_saga / 5,
  },
];
