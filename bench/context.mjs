// What a workload gets: the shared server, room for files, how long to measure, and where to say what it is doing.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openServer } from "./server.mjs";

/**
 * @typedef {object} Context
 * @property {boolean} quick
 * @property {{ warmMs: number, measureMs: number }} window       of each trial
 * @property {{ warmMs: number, measureMs: number }} longWindow   of participants whose workflows take long under load
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
    window: quick ? { warmMs: 800, measureMs: 1800 } : { warmMs: 2000, measureMs: 4000 },
    longWindow: quick ? { warmMs: 1200, measureMs: 2000 } : { warmMs: 2500, measureMs: 5000 },
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
  return {
    context,
    folder,
    close: () => postgres.close(),
  };
}
