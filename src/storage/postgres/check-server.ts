/** Whether a server can give the guarantees of Amends: its version, its durability, and that it accepts writes. */
import type { ClientBase } from "pg";
import { AmendsError } from "../../core/errors.ts";

/** `fsync`: the server must sync its log to disk. `server`: it need not, because its storage does, or nothing is lost. */
export type Durability = "fsync" | "server";

const OLDEST = 130_000;

const ASK =
  "select current_setting('fsync') as fsync, current_setting('server_version_num')::int as version, pg_is_in_recovery() as standby";

interface Found {
  readonly fsync: string;
  readonly version: number;
  readonly standby: boolean;
}

/** Throws if it cannot. True if `fsync` is off and `durability` accepts that. */
export async function checkServer(client: ClientBase, durability: Durability): Promise<boolean> {
  const [found] = (await client.query<Found>(ASK)).rows;
  if (!found) return false;
  if (found.version < OLDEST) {
    throw new AmendsError("DATABASE_TOO_OLD", "Amends needs PostgreSQL 13 or newer.", {
      found: found.version,
    });
  }
  if (found.fsync !== "on" && durability !== "server") {
    throw new AmendsError(
      "DATABASE_UNSAFE",
      'This PostgreSQL runs with fsync off: a crash of its machine can lose what it acknowledged. Turn fsync on. If the host\'s storage keeps commits by itself (Neon), or if this database is for tests, pass `durability: "server"` to `postgres`.',
    );
  }
  if (found.standby) {
    throw new AmendsError("DATABASE_READ_ONLY", "This PostgreSQL is a standby. Connect to the primary.");
  }
  return found.fsync !== "on";
}
