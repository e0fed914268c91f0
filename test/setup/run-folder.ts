/**
 * The temporary folder of one run: in memory where the system has a disk in memory, because tests kill processes and
 * never the machine, so such a disk shows the same and costs less. Removed when the run ends; what a killed run left
 * behind is removed by the next one.
 */
import { mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const MEMORY = "/dev/shm";
const ROOM_MIN_BYTES = 2 * 1_024 ** 3;
const PREFIX = "amends-run-";

const parent = hasRoom() ? MEMORY : tmpdir();

/** One per process that runs Vitest. It exists once `makeRunFolder` was called. */
export const runFolder: string = path.join(parent, `${PREFIX}${process.pid}`);

export function makeRunFolder(): void {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(PREFIX) && !isAlive(Number(name.slice(PREFIX.length))))
      rmSync(path.join(parent, name), { recursive: true, force: true });
  }
  mkdirSync(runFolder, { recursive: true });
}

export function removeRunFolder(): void {
  rmSync(runFolder, { recursive: true, force: true, maxRetries: 5 });
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM_MIN_BYTES;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
