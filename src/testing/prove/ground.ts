/**
 * The database and the clock of a proof. Schedules may share them one after the other, because each has its own
 * saga; not after a schedule that left its saga open, and not if steps write application tables.
 */
import { DatabaseJournal } from "../../sagas/journal/database-journal.ts";
import { migrate } from "../../storage/migrations/migrate.ts";
import { SqliteDatabase } from "../../storage/sqlite/connection.ts";
import { sqliteDialect } from "../../storage/sqlite/dialect.ts";
import { openSqlite, type SqliteHandle } from "../../storage/sqlite/driver.ts";
import { virtualClock, type VirtualClock } from "../kit/virtual-clock.ts";

export class Ground {
  readonly clock: VirtualClock = virtualClock();
  readonly handle: SqliteHandle = openSqlite(":memory:");
  readonly database: SqliteDatabase = new SqliteDatabase({
    path: this.handle,
    dialect: sqliteDialect("amends_", this.clock),
    clock: this.clock,
  });
  /** Reads durable state from outside the simulated processes. */
  readonly journal: DatabaseJournal = new DatabaseJournal({ db: this.database });

  static async open(): Promise<Ground> {
    const ground = new Ground();
    await migrate(ground.database);
    return ground;
  }

  async close(): Promise<void> {
    await this.database.close();
    this.handle.close();
  }
}
