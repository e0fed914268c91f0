/** The storage contract in memory: SQLite without a file. */
import { refuseUnknown } from "../core/options.ts";
import { systemClock, type Clock } from "../storage/clock.ts";
import { SqliteDatabase } from "../storage/sqlite/connection.ts";
import { sqliteDialect } from "../storage/sqlite/dialect.ts";
import { SqlSagaStorage } from "./sql-storage.ts";

/** The options of `MemorySagaStorage`. */
export interface MemoryStorageOptions {
  /** The clock of the storage: a virtual clock, for tests. Default: the clock of the system. */
  readonly clock?: Clock;
}

/** A storage in memory, for tests: in-memory SQLite behind the storage contract. Its sagas end with the process. */
export class MemorySagaStorage extends SqlSagaStorage {
  constructor(options: MemoryStorageOptions = {}) {
    refuseUnknown(options, ["clock"], "MemorySagaStorage");
    const { clock = systemClock } = options;
    super(new SqliteDatabase({ path: ":memory:", dialect: sqliteDialect("amends_", clock), clock }));
  }
}
