const queued = 50_000;
const databases = ["empty", "filled"];
const participant = "queue-postgres";

export const name = "queues";
export const says = "PostgreSQL: a lone saga beside 50,000 queued ones, against an empty queue";
export const rounds = 9;

export const sides = {
  sagas: { participant, databases, queued, kind: "sagas" },
  keys: { participant, databases, queued, kind: "keys" },
};

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "pg_lone_saga_beside_queue_of_another",
    says: "PostgreSQL: a lone saga beside 50,000 queued ones of another saga, against an empty queue (median time)",
    atMost: 3,
    of: ({ sagas }) => sagas.queued_ms_p50 / sagas.empty_ms_p50,
  },
  {
    name: "pg_lone_saga_beside_queue_of_another_key",
    says: "PostgreSQL: a lone saga beside 50,000 queued ones of another key, against an empty queue (median time)",
    atMost: 3,
    of: ({ keys }) => keys.queued_ms_p50 / keys.empty_ms_p50,
  },
];
