// What comparisons share: the server, room for files, how long a slice is, and where to say what is going on.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openServer } from "./server.mjs";

/**
 * @typedef {object} Context
 * @property {boolean} quick
 * @property {{ warmMs: number, measureMs: number }} window   of a slice of sagas in flight
 * @property {Awaited<ReturnType<typeof openServer>>} postgres
 * @property {(label: string) => { path: string, remove(): void }} newFile   for a SQLite database
 * @property {(what: string) => void} progress
 */

/** @param {{ quick: boolean, progress: (what: string) => void }} options */
export async function openContext({ quick, progress }) {
  const folder = mkdtempSync(join(tmpdir(), "amends-bench-"));
  // An interrupted run leaves nothing behind either; the server ends by itself with this process.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  const postgres = await openServer();
  let files = 0;
  /** @type {Context} */
  const context = {
    quick,
    window: quick ? { warmMs: 300, measureMs: 1_200 } : { warmMs: 500, measureMs: 2_000 },
    postgres,
    newFile(label) {
      const path = join(folder, `${label}-${++files}.db`);
      return {
        path,
        remove: () => ["", "-wal", "-shm"].forEach((ending) => rmSync(path + ending, { force: true })),
      };
    },
    progress,
  };
  return { context, folder, close: () => postgres.close() };
}
