import { runInChild } from "../trial.mjs";

export const name = "webhooks-claim-postgres";

/** Both sides take turns within the one trial, and the filling takes most of its time. */
export const rounds = 1;

export async function run(context) {
  const [empty, filled] = [
    await context.postgres.newDatabase("webhooks_empty"),
    await context.postgres.newDatabase("webhooks_filled"),
  ];
  try {
    const options = {
      emptyUrl: empty.url,
      filledUrl: filled.url,
      finished: 1_000_000,
      events: 20,
      turns: context.quick ? 7 : 15,
    };
    return await runInChild("webhooks-claim-postgres", "run", options, 300_000);
  } finally {
    await empty.drop();
    await filled.drop();
  }
}
