import { existsSync } from "node:fs";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createDatabase, startPostgres } from "../../tools/postgres-server.mjs";
import type { PostgresServer } from "../../tools/postgres-server.mjs";
import { describeOn } from "../support/databases.ts";

async function ask<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

describeOn("postgres", () => {
  it("the run has one PostgreSQL, with its URL provided", async () => {
    expect(await ask(inject("postgresUrl"), "select 1 as one")).toEqual([{ one: 1 }]);
  });

  describe("a server of one's own", () => {
    let server: PostgresServer;

    beforeAll(async () => {
      server = await startPostgres({ own: true, settings: { work_mem: "5MB" } });
    });

    afterAll(async () => {
      await server.stop();
    });

    it("is durable, takes settings, and admits nobody without the password", async () => {
      expect(
        await ask(
          server.url,
          `select name, setting from pg_settings
            where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'work_mem') order by name`,
        ),
      ).toEqual([
        { name: "fsync", setting: "on" },
        { name: "full_page_writes", setting: "on" },
        { name: "synchronous_commit", setting: "on" },
        { name: "work_mem", setting: "5120" },
      ]);
      const stranger = new URL(server.url);
      stranger.password = "guess";
      await expect(ask(stranger.href, "select 1")).rejects.toMatchObject({ code: "28P01" });
    });

    it("makes a database from a template and keeps it over a crash, on the same port", async () => {
      const template = await createDatabase(server.url, "template");
      await ask(template, "create table kept (id int)");
      const copy = await createDatabase(server.url, "Copy 1", "template");
      await ask(copy, "insert into kept values (7)");
      const before = server.pid;
      await server.restart("immediate");
      expect(server.pid).not.toBe(before);
      expect(await ask(copy, "select id from kept")).toEqual([{ id: 7 }]);
      await server.restart("fast");
      expect(await ask(copy, "select id from kept")).toEqual([{ id: 7 }]);
    });

    it("leaves nothing behind", async () => {
      await server.stop();
      expect(existsSync(server.dataDir ?? "")).toBe(false);
      await expect(ask(server.url, "select 1")).rejects.toThrow("ECONNREFUSED");
    });
  });
});
