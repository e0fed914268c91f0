export const name = "lone-saga";
export const says = "PostgreSQL: one saga at a time";
export const rounds = 9;
export const quickRounds = 5;

export const sides = { "in turns": { participant: "lone-postgres", on: "postgres" } };

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_lone_saga_vs_bare_commits",
    says: "PostgreSQL: a lone saga against N + 1 bare commits (median time)",
    atMost: 1.25,
    inReadme: true,
    of: ({ "in turns": one }) => one.saga_ms_p50 / one.bare_commits_ms_p50,
  },
];
