/** One PostgreSQL for the whole run. Tests read its URL with `inject("postgresUrl")` and make databases of their own. */
import { statfsSync } from "node:fs";
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../tools/postgres-server.mjs";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres(inMemory());
  project.provide("postgresUrl", server.url);
  return () => server.stop();
}

const MEMORY = "/dev/shm";
const ROOM_MIN_BYTES = 2 * 1_024 ** 3;

/** Processes are killed here, never the machine: a disk in memory, where there is one, shows the same and costs less. */
function inMemory(): { readonly parentDir?: string } {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM_MIN_BYTES ? { parentDir: MEMORY } : {};
  } catch {
    return {};
  }
}
