export const name = "idle";
export const says = "PostgreSQL: an idle worker with all parts and the defaults";
export const rounds = 3;
export const quickRounds = 2;

export const sides = { "all parts": { participant: "idle-postgres", on: "postgres" } };

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_idle_statements_per_s",
    says: "PostgreSQL: statements per second of an idle worker, all parts on",
    atMost: 1,
    of: ({ "all parts": one }) => one.statements_per_s,
  },
];
