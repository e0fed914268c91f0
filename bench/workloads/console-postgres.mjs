import { runInChild } from "../trial.mjs";

export const name = "console-postgres";

/** Both sides take turns within the one trial, and the filling takes most of its time. */
export const rounds = 1;

export async function run(context) {
  const [few, many] = [await context.postgres.newDatabase("few"), await context.postgres.newDatabase("many")];
  try {
    return await runInChild(
      "console-postgres",
      "run",
      {
        fewUrl: few.url,
        manyUrl: many.url,
        few: 10_000,
        many: 1_000_000,
        turns: context.quick ? 7 : 15,
      },
      180_000,
    );
  } finally {
    await few.drop();
    await many.drop();
  }
}
