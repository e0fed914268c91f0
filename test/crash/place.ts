/** Where one lane's work is kept: a database of its own, and the file that remembers the world. */
import type { Database } from "../../src/storage/database.ts";

export interface Place {
  readonly dialect: "postgres" | "sqlite";
  /** A URL or a file. */
  readonly url: string;
  /** On PostgreSQL lanes share a database and differ in their schema, which is made much faster. */
  readonly schema: string;
  readonly effects: string;
}

/** Opens it, loading only the driver that it needs. */
export async function openPlace({ dialect, url, schema }: Place, connections: number = 1): Promise<Database> {
  if (dialect === "sqlite") {
    const { sqlite } = await import("amends/sqlite");
    return sqlite(url);
  }
  const { postgres } = await import("amends/postgres");
  // Found by polling: a listening connection for each lane would be one too many for the server.
  return postgres({ url, schema, connections, notify: false });
}
