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

/** `empty` has no table, `migrated` has Amends' tables. */
export type Content = "empty" | "migrated";

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
  const name = `test_${process.pid}_${(count += 1)}`;
  await administer(`create database "${name}"${content === "migrated" ? await fromTemplate() : ""}`);
  return { at: urlOf(name), content, remove: () => administer(`drop database "${name}" with (force)`) };
}

async function makeSqlite(content: Content): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "amends-test-"));
  const at = join(folder, "amends.db");
  if (content === "migrated") copyFileSync(await sqliteTemplate(), at);
  return { at, content, remove: async () => rmSync(folder, { recursive: true, force: true }) };
}

/** Copying files takes half the time of copying pages through the log, which newer servers do by default. */
const fromTemplate = once(async () => {
  const name = `template_${process.pid}`;
  await administer(`create database "${name}"`);
  const database = postgres({ url: urlOf(name), connections: 1 });
  await migrate(database);
  // Nothing can be copied while a connection is open.
  await database.close();
  const { rows } = await (
    await connected()
  ).query<{ version: number }>("select current_setting('server_version_num')::int as version");
  const strategy = Number(rows[0]?.version) >= 150_000 ? " strategy file_copy" : "";
  return ` template "${name}"${strategy}`;
});

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

/** Statements that are about databases, on one connection for the whole process. */
async function administer(statement: string): Promise<void> {
  const client = await connected();
  await client.query(statement);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
