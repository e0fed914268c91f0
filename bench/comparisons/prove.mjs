export const name = "prove";
export const says =
  "prove: schedules of a saga of five steps with undos, each with a crash, a failure or a timeout";
export const rounds = 7;
export const quickRounds = 3;

export const sides = { prove: { participant: "prove" } };

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "prove_schedules_per_s",
    says: "prove: schedules per second, five steps with undos",
    atLeast: 500,
    inReadme: true,
    of: ({ prove }) => prove.schedules_per_s,
  },
];
