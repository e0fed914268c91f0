/** One PostgreSQL for the whole run. Tests read its URL with `inject("postgresUrl")` and make databases of their own. */
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../tools/postgres-server.mjs";
import { chosenDatabases, leftOutDatabases } from "./chosen-databases.ts";
import { makeRunFolder, removeRunFolder, runFolder } from "./run-folder.ts";

/** A test that asks for the server without `describeOn("postgres", …)` fails with this name in its error. */
const LEFT_OUT = "postgres://left-out-by-amends-databases.invalid/postgres";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  makeRunFolder();
  if (leftOutDatabases.length > 0)
    console.log(`AMENDS_DATABASES leaves out: ${leftOutDatabases.join(", ")}. Their tests are skipped.\n`);
  const server = chosenDatabases.includes("postgres")
    ? await startPostgres({ parentDir: runFolder, settings: { max_connections: 400 } })
    : undefined;
  project.provide("postgresUrl", server?.url ?? LEFT_OUT);
  return async () => {
    await server?.stop();
    removeRunFolder();
  };
}
