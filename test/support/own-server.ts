/** A PostgreSQL server of a test's own, to restart, to break or to configure. */
import { inject } from "vitest";
import { startPostgres, type PostgresServer } from "../../tools/postgres-server.mjs";

/** It begins with a copy of an empty cluster: making one takes a second of processor time. */
export function startOwnServer(
  settings: Readonly<Record<string, string | number | boolean>> = {},
): Promise<PostgresServer> {
  const copyOf = inject("emptyCluster");
  return startPostgres({ own: true, settings, ...(copyOf && { copyOf }) });
}
