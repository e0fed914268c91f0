/**
 * Where the databases of tests are. A process migrates one database of each kind, and every test gets a copy of it:
 * copying takes a fraction of the time that migrating does.
 */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgres } from "amends/postgres";
import { sqlite } from "amends/sqlite";
import pg from "pg";
import type { Database } from "../../src/storage/database.ts";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { raw } from "../../src/storage/sql.ts";
import type { DatabaseName } from "../setup/chosen-databases.ts";
import { postgresUrl } from "./postgres-url.ts";

/** `empty` has no table, `migrated` has Amends' tables, `granted` also the roles of `migrate({ roles: true })`. */
export type Content = "empty" | "migrated" | "granted";

export interface Place {
  /** A URL or a file. */
  readonly at: string;
  /** What it held when it was made. */
  readonly content: Content;
  remove(): Promise<void>;
}

export function makePlace(name: DatabaseName, content: Content): Promise<Place> {
  return name === "postgres" ? makePostgres(content) : makeSqlite(content);
}

let count = 0;

async function makePostgres(content: Content): Promise<Place> {
  const { at, remove } = await (content === "empty" ? newPostgres("") : copyOf[content]());
  return { at, content, remove };
}

async function makeSqlite(content: Content): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "amends-test-"));
  const at = join(folder, "amends.db");
  if (content !== "empty") copyFileSync(await sqliteTemplate(), at);
  return { at, content, remove: async () => rmSync(folder, { recursive: true, force: true }) };
}

const copyOf = { migrated: postgresCopies("migrated", fill), granted: postgresCopies("granted", fill) };

async function fill(url: string, kind: string): Promise<void> {
  const database = postgres({ url, connections: 1 });
  await migrate(database, { roles: kind === "granted" });
  await database.close();
}

/**
 * Makes databases that are copies of one that `make` has filled, once in this process. It has to close its connections:
 * nothing can be copied while one is open.
 */
export function postgresCopies(
  kind: string,
  make: (url: string, kind: string) => Promise<void>,
): () => Promise<Omit<Place, "content">> {
  const template = once(async () => {
    const name = `${kind}_${process.pid}`;
    await administer(`create database "${name}"`);
    await make(urlOf(name), kind);
    const { rows } = await (
      await connected()
    ).query<{ version: number }>("select current_setting('server_version_num')::int as version");
    // Copying files takes half the time of copying pages through the log, which newer servers do by default.
    const strategy = Number(rows[0]?.version) >= 150_000 ? " strategy file_copy" : "";
    return ` template "${name}"${strategy}`;
  });
  return async () => newPostgres(await template());
}

async function newPostgres(template: string): Promise<Omit<Place, "content">> {
  const name = `test_${process.pid}_${(count += 1)}`;
  await administer(`create database "${name}"${template}`);
  return { at: urlOf(name), remove: () => administer(`drop database "${name}" with (force)`) };
}

const sqliteTemplate = once(async () => {
  const folder = mkdtempSync(join(tmpdir(), "amends-template-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "amends.db");
  const database = sqlite(file) as Database;
  await migrate(database);
  // The file is copied without the log beside it.
  await database.query(raw("pragma wal_checkpoint(truncate)"));
  await database.close();
  return file;
});

function urlOf(name: string): string {
  const url = new URL(postgresUrl());
  url.pathname = `/${name}`;
  return url.href;
}

const connected = once(async () => {
  const client = new pg.Client(postgresUrl());
  client.on("error", () => undefined);
  await client.connect();
  return client;
});

/** Statements that are about databases and logins, on one connection for the whole process. */
export async function administer(statement: string): Promise<void> {
  const client = await connected();
  await client.query(statement);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
