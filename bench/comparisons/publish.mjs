export const name = "publish";
export const says = "PostgreSQL: publishing 10,000 events in one transaction";
export const rounds = 11;
export const quickRounds = 7;

export const sides = { "in turns": { participant: "publish-postgres", on: "postgres" } };

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_publish_vs_bare_inserts",
    says: "PostgreSQL: publishing 10,000 events in one transaction against bare multi-row inserts (events/s)",
    atLeast: 0.5,
    of: ({ "in turns": one }) => one.published_per_s / one.bare_inserts_per_s,
  },
];
