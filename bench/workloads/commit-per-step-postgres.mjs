import { atEach, loadOnPostgres } from "../trial.mjs";

export const name = "commit-per-step-postgres";

export function run(context) {
  const connections = context.quick ? [8, 16] : [1, 8, 16];
  return atEach(context, connections, (lanes) =>
    loadOnPostgres(context, "commit-per-step-postgres", { lanes }),
  );
}
