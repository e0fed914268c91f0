import { atEach, loadOnSqlite } from "../trial.mjs";

export const name = "amends-sqlite";

export function run(context) {
  const concurrencies = context.quick ? [1000] : [1, 16, 100, 1000, 2048];
  return atEach(context, concurrencies, (lanes) => loadOnSqlite(context, "amends-sqlite", { lanes }));
}
