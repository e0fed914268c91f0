import { runInChild } from "../trial.mjs";

export const name = "publish-postgres";

/** Both sides take turns within the one trial. */
export const rounds = 1;

export async function run(context) {
  const database = await context.postgres.newDatabase(name);
  try {
    const options = { url: database.url, events: 10_000, turns: context.quick ? 7 : 15 };
    return await runInChild("publish-postgres", "run", options, 60_000);
  } finally {
    await database.drop();
  }
}
