import { runInChild } from "../trial.mjs";

export const name = "outbox-claim";

/** Both sides take turns within the one trial, and the filling takes most of its time. */
export const rounds = 1;

export async function run(context) {
  const [empty, filled] = [
    await context.postgres.newDatabase("empty"),
    await context.postgres.newDatabase("filled"),
  ];
  try {
    return await runInChild(
      name,
      "run",
      {
        emptyUrl: empty.url,
        filledUrl: filled.url,
        finished: 1_000_000,
        batch: 500,
        claims: 10,
        turns: context.quick ? 5 : 11,
      },
      240_000,
    );
  } finally {
    await empty.drop();
    await filled.drop();
  }
}
