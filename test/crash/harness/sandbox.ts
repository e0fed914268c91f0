/** The sandbox of one scenario run: a database of its own, and the files that record calls to the outside world. */
import type { Database } from "../../../src/storage/database.ts";

export interface Sandbox {
  readonly dialect: "postgres" | "sqlite";
  /** A URL or a file. */
  readonly url: string;
  /** The file of recorded effects. */
  readonly effects: string;
}

/** Opens the database, and loads only the driver that it needs. */
export async function openSandbox({ dialect, url }: Sandbox, connections: number = 1): Promise<Database> {
  if (dialect === "sqlite") {
    const { sqlite } = await import("amends/sqlite");
    return sqlite(url);
  }
  const { postgres } = await import("amends/postgres");
  // Workers poll: a listening connection for each run would exceed the server's limit.
  return postgres({ url, connections, notify: false });
}
