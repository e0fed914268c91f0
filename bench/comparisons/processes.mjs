export const name = "processes";
export const says =
  "PostgreSQL: a queue of sagas of five steps, run by one, two and four worker processes on this machine";
export const rounds = 7;

const side = { participant: "worker-processes", on: "postgres" };

export const sides = {
  "1 process": { ...side, processes: 1 },
  "2 processes": { ...side, processes: 2 },
  "4 processes": { ...side, processes: 4 },
};

const against = (count) => (round) =>
  round[`${count} processes`].sagas_per_s / round["1 process"].sagas_per_s;

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_two_processes_vs_one",
    says: "PostgreSQL: sagas/s of two worker processes against one, on these cores",
    of: against(2),
  },
  {
    name: "pg_four_processes_vs_one",
    says: "PostgreSQL: sagas/s of four worker processes against one, on these cores",
    of: against(4),
  },
];
