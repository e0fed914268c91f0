import pg from "pg";

/**
 * A pool of the application. `end` resolves before its connections are closed, and the database is dropped right after
 * a test: what the server says then is nobody's error.
 */
export function applicationPool(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  pool.on("error", () => undefined);
  return pool;
}
