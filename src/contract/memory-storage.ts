/** The storage contract in memory: SQLite without a file. */
import { systemClock } from "../storage/clock.ts";
import { SqliteDatabase } from "../storage/sqlite/connection.ts";
import { sqliteDialect } from "../storage/sqlite/dialect.ts";
import { SqlSagaStorage } from "./sql-storage.ts";

/** A storage in memory, for tests: in-memory SQLite behind the storage contract. Its sagas end with the process. */
export class MemorySagaStorage extends SqlSagaStorage {
  constructor() {
    const dialect = sqliteDialect("amends_", systemClock);
    super(new SqliteDatabase({ path: ":memory:", dialect, clock: systemClock }));
  }
}
