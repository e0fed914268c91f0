// What the figures were measured on, and with which versions: absolute figures mean little without it.
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { sqliteModule } from "./sqlite.mjs";
import { median } from "./statistics.mjs";

/** @param {{ folder: string, postgres: { version: string } }} options */
export async function describeMachine({ folder, postgres }) {
  const { DatabaseSync } = await sqliteModule();
  const memory = new DatabaseSync(":memory:");
  const { version } = memory.prepare("select sqlite_version() as version").get();
  memory.close();
  return {
    node: process.version,
    cores: availableParallelism(),
    cpu: cpus()[0]?.model,
    postgres: postgres.version,
    sqlite: version,
    fdatasync_us: fdatasyncUs(folder),
  };
}

export function packageVersions() {
  const { dependencies } = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8"));
  const versionOf = (name) =>
    JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url), "utf8")).version;
  return Object.fromEntries(Object.keys(dependencies).map((name) => [name, versionOf(name)]));
}

/** How long the disk takes to make 8 kB durable: the price that every commit pays. */
function fdatasyncUs(folder) {
  const path = join(folder, "sync");
  const file = openSync(path, "w");
  const page = Buffer.alloc(8192, 1);
  const took = Array.from({ length: 200 }, () => {
    const begun = performance.now();
    writeSync(file, page, 0, page.length, 0);
    fdatasyncSync(file);
    return (performance.now() - begun) * 1000;
  });
  closeSync(file);
  rmSync(path);
  return Math.round(median(took));
}
