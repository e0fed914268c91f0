import { atEach, loadOnPostgres } from "../trial.mjs";

export const name = "openworkflow-postgres";

export function run(context) {
  const concurrencies = context.quick ? [64] : [1, 16, 64, 128];
  return atEach(context, concurrencies, (concurrency) =>
    // Its worker sleeps whenever a claim finds nothing: a backlog keeps it awake.
    loadOnPostgres(context, "openworkflow-postgres", {
      concurrency,
      lanes: concurrency === 1 ? 1 : concurrency * 2,
      ...context.longWindow,
    }),
  );
}
