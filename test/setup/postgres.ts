/** One PostgreSQL for the whole run. Tests read its URL with `inject("postgresUrl")` and make databases of their own. */
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../tools/postgres-server.mjs";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide("postgresUrl", server.url);
  return () => server.stop();
}
