export const name = "sagas-sqlite";
export const says = "SQLite (WAL, FULL): sagas of five trivial steps";
export const rounds = 11;
export const quickRounds = 5;

export const sides = {
  amends: { participant: "amends-sqlite", on: "sqlite", lanes: 1000, sweep: [1, 16, 100, 500, 1000, 2048] },
  "one commit per step": { participant: "commit-per-step-sqlite", on: "sqlite", lanes: 1 },
  openworkflow: {
    participant: "openworkflow-sqlite",
    on: "sqlite",
    lanes: 128,
    warmMs: 800,
    sweep: [2, 32, 128],
  },
};

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "sqlite_steps_vs_commit_per_step",
    says: "SQLite: steps/s against one commit per step",
    atLeast: 25,
    inReadme: true,
    of: (round) => round.amends.steps_per_s / round["one commit per step"].steps_per_s,
  },
  {
    name: "sqlite_steps_vs_openworkflow",
    says: "SQLite: steps/s against openworkflow",
    atLeast: 50,
    of: (round) => round.amends.steps_per_s / round.openworkflow.steps_per_s,
  },
];
