import { runInChild } from "../trial.mjs";

export const name = "claim-postgres";

/** Both sides take turns within the one trial, and the filling takes most of its time. */
export const rounds = 1;

export async function run(context) {
  const [empty, filled] = [
    await context.postgres.newDatabase("empty"),
    await context.postgres.newDatabase("filled"),
  ];
  try {
    return await runInChild(
      "claim-postgres",
      "run",
      {
        emptyUrl: empty.url,
        filledUrl: filled.url,
        finished: 1_000_000,
        pending: context.quick ? 1000 : 2000,
        turns: context.quick ? 7 : 15,
      },
      180_000,
    );
  } finally {
    await empty.drop();
    await filled.drop();
  }
}
