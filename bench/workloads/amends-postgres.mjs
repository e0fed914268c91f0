import { atEach, loadOnPostgres } from "../trial.mjs";

export const name = "amends-postgres";

export function run(context) {
  const concurrencies = context.quick ? [1000, 2048] : [1, 16, 100, 500, 1000, 2048];
  return atEach(context, concurrencies, (lanes) => loadOnPostgres(context, "amends-postgres", { lanes }));
}
