// What peers need.
import { spawnSync } from "node:child_process";

/** The version of Node.js for peers that want a newer one than Amends does. */
export const NODE_22 = "22.23.3";

/** What to install, where there is no Redis on the PATH. */
export function withoutRedis() {
  return spawnSync("redis-server", ["--version"]).error
    ? "no redis-server on the PATH (Debian package redis-server)"
    : undefined;
}
