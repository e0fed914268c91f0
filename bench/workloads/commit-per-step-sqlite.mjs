import { atEach, loadOnSqlite } from "../trial.mjs";

export const name = "commit-per-step-sqlite";

export function run(context) {
  return atEach(context, [1], (lanes) => loadOnSqlite(context, "commit-per-step-sqlite", { lanes }));
}
