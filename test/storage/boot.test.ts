import { readFileSync } from "node:fs";
import { postgres } from "amends/postgres";
import { sqlite, type Database, type SqliteHandle } from "amends/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/storage/clock.ts";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { SqliteDatabase } from "../../src/storage/sqlite/connection.ts";
import { sqliteDialect } from "../../src/storage/sqlite/dialect.ts";
import { openSqlite } from "../../src/storage/sqlite/driver.ts";
import { isTooOld } from "../../src/storage/sqlite/version.ts";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase } from "../support/databases.ts";

onDatabase("postgres", (database) => {
  it("[X-04] every connection has time limits", async () => {
    const db = await database.open();
    const names = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
    for (const name of names) {
      const [row] = await db.query(sql`select setting::int as ms from pg_settings where name = ${name}`);
      expect([name, Number(row?.["ms"])]).toEqual([
        name,
        expect.toSatisfy((ms: number) => ms > 0 && ms <= 60_000),
      ]);
    }
  });

  it("[K-20] a schema whose name the server reserves is refused in words, and every other name works", async () => {
    const db = await database.open();
    const url = await database.place();
    const words = await db.query(sql`select word, catcode in ('R', 'T') as reserved from pg_get_keywords()`);
    const refused = [
      ...words.filter((row) => row["reserved"] === true).map((row) => String(row["word"])),
      "information_schema",
      "pg_catalog",
      "pg_own",
      "Amends",
      "a b",
      'a"b',
      "",
    ];
    for (const schema of refused)
      expect(() => postgres({ url, schema })).toThrow(
        expect.objectContaining({ code: "BAD_OPTION", details: { field: "schema" } }),
      );
    expect(() => postgres({ url, schema: "select" })).toThrow(/"select", a reserved word of SQL/);
    // Words that are names in a statement, too.
    for (const schema of ["values", "name", "timestamp"]) {
      const other = postgres({ url, schema });
      await migrate(other);
      await other.close();
    }
  });

  it("[X-04] a PostgreSQL that is not there is a typed error within the time that somebody would wait", async () => {
    const db = postgres({ connection: { host: "127.0.0.1", port: 1, user: "x", database: "x" } });
    await expect(migrate(db as Database)).rejects.toMatchObject({ code: "DATABASE_UNREACHABLE" });
    await db.close();
  });
});

onDatabase("sqlite", (database) => {
  it("[X-04] SQLite is opened with a write-ahead log, full synchronisation and secure deletion", async () => {
    const db = await database.open();
    const pragma = async (name: "journal_mode" | "synchronous" | "secure_delete" | "busy_timeout") => {
      const text = {
        journal_mode: sql`pragma journal_mode`,
        synchronous: sql`pragma synchronous`,
        secure_delete: sql`pragma secure_delete`,
        busy_timeout: sql`pragma busy_timeout`,
      }[name];
      return Object.values((await db.query(text))[0] ?? {})[0];
    };
    expect(await pragma("journal_mode")).toBe("wal");
    expect(await pragma("synchronous")).toBe(2);
    expect(await pragma("secure_delete")).toBe(1);
    expect(await pragma("busy_timeout")).toBeGreaterThan(0);
    // The file itself says so too: bytes 18 and 19 are 2 for a write-ahead log.
    expect([...readFileSync(await database.place()).subarray(18, 20)]).toEqual([2, 2]);
  });

  it("[X-04] a caller's handle that maps its file into memory maps nothing more once Amends has it", async () => {
    const handle = openSqlite(await database.place());
    const mapped = (): unknown => Object.values(handle.prepare("pragma mmap_size").all()[0] ?? {})[0];
    handle.exec("pragma mmap_size = 1048576");
    expect(mapped()).toBe(1_048_576);
    await sqlite(handle).open();
    expect(mapped()).toBe(0);
    handle.close();
  });

  it("[X-04] a caller's handle that returns BigInts is one like any other", async () => {
    const handle = openSqlite(await database.place());
    onTestFinished(() => void handle.close());
    const bigInts = new Proxy(handle, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== "prepare") return typeof value === "function" ? (value.bind(target) as unknown) : value;
        return (text: string) => {
          const statement = target.prepare(text);
          (statement as unknown as { setReadBigInts(on: boolean): void }).setReadBigInts(true);
          return statement;
        };
      },
    });
    const db = sqlite(bigInts);
    await migrate(db);
    expect(await db.query(sql`select 2 as two`)).toMatchObject([{ two: 2n }]);
  });

  it("[X-04] settings that SQLite did not take are noticed at boot", async () => {
    const handle = openSqlite(await database.place());
    for (const setting of ["journal_mode", "synchronous", "secure_delete"]) {
      // As a build of SQLite that was compiled without it: it says nothing, and does nothing.
      const deaf: SqliteHandle = {
        prepare: (text) => handle.prepare(text),
        exec: (text) =>
          handle.exec(
            text
              .split(";")
              .filter((part) => !part.includes(setting))
              .join(";"),
          ),
        close: () => handle.close(),
      };
      handle.exec("pragma journal_mode = delete; pragma synchronous = off; pragma secure_delete = off");
      await expect(sqlite(deaf).open()).rejects.toMatchObject({
        code: "DATABASE_UNSAFE",
        message: expect.stringContaining(setting) as string,
      });
    }
    handle.close();
  });

  it("[X-04] a SQLite that can corrupt its file is refused", async () => {
    const path = await database.place();
    const old = new SqliteDatabase({
      path,
      dialect: sqliteDialect("amends_", systemClock),
      clock: systemClock,
      version: "3.46.1",
    });
    await expect(old.open()).rejects.toMatchObject({ code: "DATABASE_TOO_OLD" });
  });
});

describe("versions of SQLite", () => {
  it("[X-04] are compared as numbers", () => {
    for (const version of ["3.51.2", "3.9.9", "2.99.99", "3.46.1", "3.51", ""])
      expect([version, isTooOld(version)]).toEqual([version, true]);
    for (const version of ["3.51.3", "3.52.0", "4.0.0", "3.100.0"])
      expect([version, isTooOld(version)]).toEqual([version, false]);
  });
});
