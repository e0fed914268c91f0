// SQLite as the running Node.js has it: its own module where there is one, else the package with the same API.

/** @returns {Promise<typeof import("node:sqlite")>} */
export async function sqliteModule() {
  try {
    return await import("node:sqlite");
  } catch {
    return await import("@photostructure/sqlite");
  }
}

/** @param {string} path */
export async function openFile(path) {
  const { DatabaseSync } = await sqliteModule();
  const database = new DatabaseSync(path);
  assureDurable(database);
  return database;
}

/**
 * WAL mode with every commit synced: sets both and makes sure of both.
 * @param {import("node:sqlite").DatabaseSync} database
 */
export function assureDurable(database) {
  database.exec("pragma journal_mode = wal; pragma synchronous = full");
  const { journal_mode } = database.prepare("pragma journal_mode").get();
  const { synchronous } = database.prepare("pragma synchronous").get();
  if (journal_mode !== "wal" || synchronous !== 2)
    throw new Error(`SQLite runs with ${journal_mode}, synchronous ${synchronous}.`);
}
