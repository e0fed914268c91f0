/**
 * The database and the clock that a saga is played on. One schedule after another may use them, as each has a saga of
 * its own there; not after one that left its saga open, and not where steps write tables of the user's.
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
  /** For looking at what is durable, from outside the processes that live and die. */
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
