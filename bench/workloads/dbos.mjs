import { atEach, loadOnPostgres } from "../trial.mjs";

export const name = "dbos";

export function run(context) {
  const concurrencies = context.quick ? [50] : [1, 16, 50, 100];
  return atEach(context, concurrencies, (lanes) =>
    loadOnPostgres(context, "dbos", { lanes, ...context.longWindow }),
  );
}
