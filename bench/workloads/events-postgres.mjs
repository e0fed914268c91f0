import { atEach, loadOnPostgres } from "../trial.mjs";

export const name = "events-postgres";

export function run(context) {
  const concurrencies = context.quick ? [1, 1000] : [1, 16, 100, 500, 1000];
  return atEach(context, concurrencies, (lanes) => loadOnPostgres(context, "events-postgres", { lanes }));
}
