export const name = "items";
export const says = "PostgreSQL: a thousand items in one saga, against a thousand children of one step";
export const rounds = 7;
export const quickRounds = 5;

export const sides = {
  each: { participant: "items-amends", on: "postgres", items: 1000 },
  "DBOS children": { participant: "items-dbos", on: "postgres", items: 1000 },
};

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_items_vs_dbos_children",
    says: "PostgreSQL: items/s of one saga against children/s of one workflow of DBOS",
    atLeast: 5,
    inReadme: true,
    of: (round) => round.each.items_per_s / round["DBOS children"].items_per_s,
  },
];
