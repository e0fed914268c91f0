/** The doctor finds what is wrong, and says what to do. */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { closeSync, fstatSync, openSync, writeSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { clockOf } from "../../src/cli/doctor/progress.ts";
import { plansOf } from "../../src/cli/doctor/plans.ts";
import { settingsOf } from "../../src/cli/doctor/settings.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase, virtualClock } from "../support/databases.ts";
import { cli } from "./support/cli.ts";

async function doctor(place: string): Promise<{
  readonly code: number;
  find(check: string): Finding | undefined;
  readonly findings: readonly Finding[];
}> {
  const { code, out, err } = await cli(["doctor", "--json", "--database", place]);
  expect(err).toBe("");
  const { ok, findings } = JSON.parse(out) as { ok: boolean; findings: readonly Finding[] };
  expect(ok).toBe(code === 0);
  return { code, findings, find: (check) => findings.find((one) => one.check === check) };
}

onEachDatabase((database) => {
  it("[P-03][X-04] a healthy system: every check is made, and each says what it found", async () => {
    await database.open();
    const { code, findings } = await doctor(await database.place());
    expect([code, findings.filter(({ level }) => level === "wrong")]).toEqual([0, []]);
    const checks = findings.map(({ check }) => check);
    const settings =
      database.name === "postgres"
        ? ["server", "durability", "commits", "time limits", "connections", "pooler", "wake-up"]
        : ["library", "journal", "durability", "erasure", "locks"];
    expect(checks).toEqual([
      "Node.js",
      "amends",
      "driver",
      "database",
      ...settings,
      "clock",
      "schema",
      ...(database.name === "sqlite" ? ["file"] : []),
      "tables",
      "indexes",
      ...(database.name === "postgres" ? ["rights"] : []),
      "plans",
      "workers",
      "progress",
      "schedules",
      "handlers",
      "log",
    ]);
    for (const finding of findings) expect(finding.level === "ok" || finding.advice !== undefined).toBe(true);
    const { out } = await cli(["doctor", "--database", await database.place()]);
    expect(out).toMatch(/✓ schema +1 migration, none missing\n/);
    expect(out).toMatch(/^(No problems found\.|No errors, \d+ warnings?\.)$/m);
  });

  it("[P-03] missing tables, a database that is away, and due work that lies still are wrong, with what to do", async () => {
    const bare = await database.open({ migrated: false });
    await bare.open();
    const missing = await doctor(await database.place());
    expect([missing.code, missing.find("schema")]).toEqual([
      1,
      expect.objectContaining({ level: "wrong", advice: "Run: amends migrate" }),
    ]);
    const order = saga("order", z.object({})).step("one", { act: () => 1 });
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [order] });
    await amends.start(order, {}, { id: "waiting" });
    expect((await doctor(await database.place())).find("progress")?.level).toBe("ok");
    const table = db.dialect.table("saga_executions");
    await db.query(
      sql`update ${table} set next_attempt_at = ${db.dialect.plusMs(db.dialect.now(), -600_000)}`,
    );
    const stuck = await doctor(await database.place());
    expect([stuck.code, stuck.find("progress")?.level]).toEqual([1, "wrong"]);
    expect(stuck.find("progress")?.detail).toMatch(/1 due, the oldest for 10 m/);
    const away = await cli([
      "doctor",
      "--database",
      database.name === "postgres" ? "postgres://x@127.0.0.1:1/y" : "nowhere.db",
    ]);
    expect([away.code, away.out]).toEqual([1, expect.stringContaining("✗ ")]);
    expect(away.out).toMatch(/^1 error, \d+ warnings?\.$/m);
  });

  it("[P-03][K-12] lines of a saga that the database has lost are named, with what to do", async () => {
    const db = await database.open();
    const order = saga("order", z.object({})).step("one", { act: () => 1 });
    const amends = await database.amends({ database: db, sagas: [order] });
    await amends.start(order, {}, { id: "lost" });
    await amends.start(order, {}, { id: "kept" });
    await amends.worker().runOnce();
    expect((await doctor(await database.place())).find("log")?.level).toBe("ok");
    await db.query(sql`delete from ${db.dialect.table("saga_executions")} where id = 'lost'`);
    const found = await doctor(await database.place());
    expect([found.code, found.find("log")?.level]).toEqual([1, "wrong"]);
    expect(found.find("log")?.detail).toMatch(/^lines without a saga: lost \(\d+ lines?\)$/);
    expect(found.find("log")?.advice).toContain("docs/guides/failover.md");
  });

  it("[P-03] clocks that differ are told, and count from where signatures would be refused", async () => {
    const now = Date.now();
    const db = await database.open({ clock: virtualClock(now) });
    expect((await clockOf(db, () => now)).level).toBe("ok");
    expect((await clockOf(db, () => now + 5_000)).level).toBe("warn");
    expect(await clockOf(db, () => now - 3_600_000)).toMatchObject({
      level: "wrong",
      detail: "this machine and the database differ by 1 h",
    });
  });

  it("[P-03] a dropped table and a dropped index are named, with what brings them back", async () => {
    const db = await database.open();
    const name = (bare: string): string => (database.name === "postgres" ? bare : `amends_${bare}`);
    const schema = database.name === "postgres" ? "amends." : "";
    await db.query(raw(`drop index ${schema}${name("saga_executions_due")}`));
    const dropped = await doctor(await database.place());
    expect([dropped.code, dropped.find("tables")?.level, dropped.find("plans")]).toEqual([
      1,
      "ok",
      undefined,
    ]);
    const index = dropped.find("indexes");
    expect([index?.level, index?.detail]).toEqual(["wrong", `missing: ${name("saga_executions_due")}`]);
    expect(index?.advice).toMatch(/^Create them: create index \S*saga_executions_due on .*;$/);
    await db.query(raw(index?.advice?.slice("Create them: ".length).replace(/;$/, "") ?? ""));
    expect((await doctor(await database.place())).code).toBe(0);
    await db.query(
      raw(`drop table ${schema}${name("saga_logs")}${database.name === "postgres" ? " cascade" : ""}`),
    );
    const lost = await doctor(await database.place());
    expect([lost.code, lost.find("tables")]).toEqual([
      1,
      expect.objectContaining({ level: "wrong", detail: `missing: ${name("saga_logs")}` }),
    ]);
  });

  it("[P-03][W-14] an index that somebody dropped is found by the plans of the hot statements", async () => {
    const db = await database.open();
    expect(await plansOf(db)).toMatchObject([{ level: "ok" }]);
    const indexes = await db.query(
      database.name === "postgres"
        ? sql`select indexname as name from pg_indexes where schemaname = 'amends' and tablename = 'saga_executions' and indexname like '%due%'`
        : sql`select name from sqlite_master where type = 'index' and tbl_name = 'amends_saga_executions' and name like '%due%'`,
    );
    expect(indexes.length).toBeGreaterThan(0);
    for (const { name } of indexes)
      await db.query(raw(`drop index ${database.name === "postgres" ? "amends." : ""}${String(name)}`));
    const [found] = await plansOf(db);
    expect([found?.level === "ok", found?.detail]).toEqual([
      false,
      expect.stringContaining("claim of sagas reads all of"),
    ]);
  });
});

onDatabase("postgres", (database) => {
  it("[P-03][X-04] settings that lose what was acknowledged, or wait for ever, are told", async () => {
    const db = await database.open();
    const find = async (check: string): Promise<Finding | undefined> =>
      (await settingsOf(db, 100)).find((one) => one.check === check);
    expect((await find("commits"))?.level).toBe("ok");
    const name = new URL(await database.place()).pathname.slice(1);
    await db.query(raw(`alter database ${name} set synchronous_commit = off`));
    const other = await doctor(await database.place());
    expect(other.find("commits")).toMatchObject({ level: "warn", detail: "synchronous_commit is off" });
    const one = await database.open({ connections: 1 });
    expect((await settingsOf(one, 100)).find(({ check }) => check === "connections")).toMatchObject({
      level: "warn",
    });
  });
});

onDatabase("sqlite", (database) => {
  it("[P-03][X-04] SQLite's settings are read, not assumed", async () => {
    const db = await database.open();
    const find = async (check: string): Promise<string | undefined> =>
      (await settingsOf(db, 100)).find((one) => one.check === check)?.level;
    expect([await find("durability"), await find("erasure"), await find("locks")]).toEqual([
      "ok",
      "ok",
      "ok",
    ]);
    for (const pragma of ["synchronous = off", "secure_delete = off", "busy_timeout = 0"])
      await db.query(raw(`pragma ${pragma}`));
    expect([await find("durability"), await find("erasure"), await find("locks")]).toEqual([
      "wrong",
      "wrong",
      "warn",
    ]);
  });

  it("[P-03] damage in a file that no statement has met yet is found", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [] });
    await db.query(raw("create table ballast (id integer primary key, text text)"));
    await db.query(
      raw(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) insert into ballast select i, hex(randomblob(100)) from n",
      ),
    );
    await db.query(raw("pragma wal_checkpoint(truncate)"));
    await amends.close();
    const file = await database.place();
    expect((await doctor(file)).find("file")?.level).toBe("ok");
    const handle = openSync(file, "r+");
    writeSync(handle, Buffer.alloc(40_960, 0xff), 0, 40_960, fstatSync(handle).size - 60_000);
    closeSync(handle);
    const damaged = await doctor(file);
    expect([damaged.code, damaged.find("file")?.level]).toEqual([1, "wrong"]);
  });
});

onDatabase("postgres", () => {
  it("[P-03] a server that cuts the connection: the doctor says what to do, and does not send to itself", async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const found = await doctor(`postgres://app@127.0.0.1:${port}/shop`);
    server.close();
    const { detail, advice } = found.find("database") as Finding;
    expect(found.code).toBe(1);
    expect(`${detail} ${advice}`).toContain("Check its address");
    expect(`${detail} ${advice}`).not.toMatch(/amends doctor|see the cause/);
  });

  it("[P-03][C-04] a refusal by a pooler is told as what it is, with the parameter and what to do", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(refusalOf("08P01", "unsupported startup parameter: jit")));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const found = await doctor(`postgres://app@127.0.0.1:${port}/shop`);
    server.close();
    const { detail } = found.find("database") as Finding;
    expect(detail).toContain("refused by a pooler (SQLSTATE 08P01, unsupported startup parameter: jit)");
    expect(detail).toContain('`pooler: "transaction"`');
    expect(detail).not.toContain("Check its address");
  });
});

/** An ErrorResponse of the protocol. */
function refusalOf(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
