export const name = "webhooks";
export const says = "Webhooks: deliveries to a hundred endpoints of a receiver on the same machine";
export const rounds = 9;
export const quickRounds = 5;

export const sides = {
  "bare client": { participant: "webhooks-bare" },
  "bare client, unsigned": { participant: "webhooks-bare", signed: false },
  deliveries: { participant: "webhooks-postgres", on: "postgres" },
  "beside a dead endpoint": { participant: "webhooks-postgres", on: "postgres", dead: true },
  "one at a time": { participant: "webhooks-postgres", on: "postgres", lone: true },
};

/** @type {import("../comparison.mjs").Ratio[]} */
export const ratios = [
  {
    name: "webhooks_deliveries_vs_bare_client",
    says: "Webhooks: deliveries/s against the same HTTP client with the same signed requests and no database",
    atLeast: 0.5,
    inReadme: true,
    of: (round) => round.deliveries.deliveries_per_s / round["bare client"].requests_per_s,
  },
  {
    name: "webhooks_cpu_vs_bare_client",
    says: "Webhooks: processor time of the worker per delivery against that client's per request",
    atMost: 2,
    of: (round) => round.deliveries.cpu_us_per_delivery / round["bare client"].cpu_us_per_request,
  },
  {
    name: "webhooks_commits_per_delivery",
    says: "Webhooks: commits per delivery under load",
    atMost: 0.5,
    of: ({ deliveries }) => deliveries.commits_per_saga,
  },
  {
    name: "webhooks_lone_commits_per_delivery",
    says: "Webhooks: commits per delivery one at a time, looks included",
    atMost: 3,
    of: (round) => round["one at a time"].commits_per_saga,
  },
  {
    name: "webhooks_beside_dead_endpoint",
    says: "Webhooks: deliveries/s beside one dead endpoint in a hundred",
    atLeast: 0.9,
    of: (round) => round["beside a dead endpoint"].deliveries_per_s / round.deliveries.deliveries_per_s,
  },
];
