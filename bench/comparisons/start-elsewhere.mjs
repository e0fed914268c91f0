export const name = "start-elsewhere";
export const says =
  "PostgreSQL: from a start in a process without a worker to the first act in another process";
export const rounds = 9;
export const quickRounds = 5;

export const sides = { "two processes": { participant: "start-elsewhere", on: "postgres" } };

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_start_elsewhere_vs_two_commits",
    says: "PostgreSQL: from a start to its first act in another process against two bare commits (median time)",
    atMost: 3,
    of: ({ "two processes": one }) => one.first_act_ms_p50 / one.two_commits_ms_p50,
  },
];
