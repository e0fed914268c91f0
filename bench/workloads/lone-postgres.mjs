import { runInChild } from "../trial.mjs";

export const name = "lone-postgres";

export async function run(context) {
  const database = await context.postgres.newDatabase(name);
  try {
    const options = { url: database.url, warmMs: 1000, blocks: context.quick ? 6 : 12, blockMs: 250 };
    await runInChild("lone-postgres", "prepare", options);
    await context.postgres.checkpoint();
    return await runInChild("lone-postgres", "run", options);
  } finally {
    await database.drop();
  }
}
