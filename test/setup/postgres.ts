/**
 * One PostgreSQL for the whole run. Tests read its URL with `inject("postgresUrl")` and make databases of their own. A test
 * that needs a server of its own starts it from a copy of this one's empty cluster.
 */
import path from "node:path";
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
  const copyTo = path.join(runFolder, "empty-cluster");
  const server = chosenDatabases.includes("postgres")
    ? await startPostgres({ parentDir: runFolder, copyTo, settings: { max_connections: 400 } })
    : undefined;
  project.provide("postgresUrl", server?.url ?? LEFT_OUT);
  // A server that DATABASE_URL names has no cluster to copy.
  const isOurs = server?.dataDir !== undefined;
  project.provide("emptyCluster", isOurs ? { dataDir: copyTo, url: server.url } : undefined);
  return async () => {
    await server?.stop();
    removeRunFolder();
  };
}
