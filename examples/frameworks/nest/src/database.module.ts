/** The pool of the service, which is closed at the end. Amends keeps connections of its own. */
import { Global, Module, type OnApplicationShutdown, type OnModuleInit } from "@nestjs/common";
import pg from "pg";

export const url = process.env.DATABASE_URL ?? "postgres://localhost/shop";

export class Database extends pg.Pool {
  constructor() {
    super({ connectionString: url, connectionTimeoutMillis: 5_000 });
    this.on("error", (error) => console.error("An idle connection was lost:", error.message));
  }

  async inTransaction(work: (tx: pg.ClientBase) => Promise<void>): Promise<void> {
    const client = await this.connect();
    try {
      await client.query("begin");
      await work(client);
      await client.query("commit");
      client.release();
    } catch (error) {
      // A connection that cannot roll back is closed instead of used again.
      await client.query("rollback").then(
        () => client.release(),
        () => client.release(true),
      );
      throw error;
    }
  }
}

@Global()
@Module({ providers: [Database], exports: [Database] })
export class DatabaseModule implements OnModuleInit, OnApplicationShutdown {
  constructor(private readonly database: Database) {}

  async onModuleInit(): Promise<void> {
    await this.database.query(
      "create table if not exists orders (id text primary key, cents integer not null, status text not null)",
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.database.end();
  }
}
