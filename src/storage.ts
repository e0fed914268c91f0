/** The storage contract: for sagas in a storage of your own, and what the migrations of a database take. */
export { type StorageOptions } from "./operate/amends-options.ts";
export {
  mayBecome,
  type SagaContext,
  type SagaLogEntry,
  type SagaOperations,
  type SagaStorage,
  type SagaStorageRun,
  type StoredSagaState,
} from "./contract/contract.ts";
export { MemorySagaStorage, type MemoryStorageOptions } from "./contract/memory-storage.ts";
export { SqlSagaStorage } from "./contract/sql-storage.ts";
export { type MigrateOptions } from "./storage/migrations/migrate.ts";
export { type Direction } from "./core/identity.ts";
export { type EntryStatus } from "./core/saga/entry.ts";
export { type Clock } from "./storage/clock.ts";
export { SagaConcurrencyError } from "./core/errors.ts";
