/** What the log says of trouble with the database: few lines, with the operation and the cause. */
import { Amends, err, ok, saga, type Logger } from "amends";
import { defineCall } from "amends/calls";
import { event, handler } from "amends/events";
import { postgres } from "amends/postgres";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { createDatabase, type PostgresServer } from "../../tools/postgres-server.mjs";
import { proxyTo } from "../storage/support/proxy.ts";
import { describeOn, onEachDatabase, virtualClock } from "../support/databases.ts";
import { startOwnServer } from "../support/own-server.ts";
import { until } from "../support/until.ts";

interface Line {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function logger(lines: Line[]): Logger {
  const at =
    (level: keyof Logger): Logger["info"] =>
    (fields, message) =>
      void lines.push({ level, message, fields });
  return { info: at("info"), warn: at("warn"), error: at("error") };
}

const order = saga("order", z.object({})).step("one", { act: () => 1 });

const Paid = event("Paid", z.object({}));
const Noted = event("Noted", z.object({}));
const note = handler("note", {
  on: Paid,
  ok: Noted,
  err: event("NotNoted", z.object({})),
  handle: () => ok(Noted({})),
});
const mail = defineCall("mail", { schema: z.object({}), handle: () => undefined });

describeOn("postgres", () => {
  let server: PostgresServer;
  const cleanups: (() => Promise<unknown>)[] = [];

  beforeEach(async () => {
    server = await startOwnServer();
    cleanups.push(() => server.stop());
    await createDatabase(server.url, "shop");
  });

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  it("[P-05] an outage is one line when it begins, one a minute with a count, and one when it is over", async () => {
    const url = new URL(server.url);
    url.pathname = "/shop";
    const proxy = await proxyTo(url.href);
    cleanups.push(() => proxy.close());
    const clock = virtualClock();
    const lines: Line[] = [];
    const amends = new Amends({
      database: postgres({ url: proxy.url, clock }),
      sagas: [order],
      events: [note],
      calls: [mail],
      webhooks: {},
      retention: { sagas: "90d" },
      logger: logger(lines),
    });
    cleanups.push(() => amends.close({ deadline: "0s" }));
    await amends.migrate();
    await amends.worker().start();
    const of = (text: string): readonly Line[] => lines.filter(({ message }) => message.includes(text));
    // The server is gone for all parts and all callers: nothing listens at this port.
    proxy.leadTo("postgres://127.0.0.1:1/shop");
    const begunAtMs = clock.monotonicMs();
    const failed: Promise<unknown>[] = [];
    await until(async () => {
      failed.push(amends.start(order, {}, { id: `o-${failed.length}` }).catch(() => undefined));
      await clock.advance(4_000);
      return of("lasts").length > 1;
    });
    expect(of("trouble with the database; trying again")).toMatchObject([
      { level: "warn", fields: { code: "DATABASE_UNREACHABLE", operation: expect.any(String) as string } },
    ]);
    proxy.leadTo(url.href);
    await until(async () => {
      await clock.advance(4_000);
      return of("is over").length > 0;
    });
    await clock.advance(10_000);
    await Promise.all(failed);
    const minutes = (clock.monotonicMs() - begunAtMs) / 60_000;
    expect(lines.length).toBeLessThanOrEqual(2 + minutes);
    const [over, ...others] = of("is over");
    expect([over?.level, others]).toEqual(["info", []]);
    // Every part has failed, many times.
    expect(Number(over?.fields["failures"])).toBeGreaterThan(5 * lines.length);
    expect(over?.fields["operations"]).toEqual(
      expect.arrayContaining(["claim sagas", "claim calls", "claim events", "claim webhooks", "write sagas"]),
    );
  });
});

onEachDatabase((database) => {
  it("[P-05][K-16] a refused statement is told with the database's code, its constraint and no value", async () => {
    const lines: Line[] = [];
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [order], logger: logger(lines) });
    await db.query(
      sql`create unique index only_one on ${db.dialect.table("saga_executions")} (name, definition)`,
    );
    await amends.start(order, {}, { id: "ann@example.com" });
    const refused = await amends.start(order, {}, { id: "bob@example.com" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "DATABASE_REFUSED" });
    const { message, details } = refused as { message: string; details: Readonly<Record<string, unknown>> };
    expect(message).not.toContain("see the cause");
    expect(`${message} ${JSON.stringify(details)}`).not.toContain("example.com");
    const isPostgres = database.name === "postgres";
    const named = { cause: "23505", table: "saga_executions", constraint: "only_one" };
    expect(details).toEqual(isPostgres ? named : { cause: details["cause"] });
    expect(String(details["cause"])).toMatch(isPostgres ? /^23505$/ : /SQLITE/);
    expect(message).toMatch(isPostgres ? /SQLSTATE 23505/ : /SQLite code|ERR_SQLITE_ERROR/);
  });

  it("[P-05] a checkpoint that the database refuses is logged with the cause", async () => {
    const lines: Line[] = [];
    const db = await database.open();
    const turning = saga("turning", z.object({}))
      .step("one", { act: () => 1, compensate: () => undefined })
      .step("two", { act: () => err("no") });
    const amends = await database.amends({ database: db, sagas: [turning], logger: logger(lines) });
    await db.query(
      sql`create unique index only_one on ${db.dialect.table("saga_logs")} (saga_id, (case when status = 'FAILED' then 0 end))`,
    );
    await amends.start(turning, {}, { id: "ann@example.com" });
    await db.query(
      sql`insert into ${db.dialect.table("saga_logs")} (saga_id, id, token, step_name, action, status, details, created_at)
        select 'ann@example.com', 90, 1, 'x', 'act', 'FAILED', null, ${db.dialect.now()}`,
    );
    await amends.worker().runOnce();
    const [line] = lines.filter(({ level }) => level === "error");
    expect(line?.message).toContain("unexpected error");
    expect(String(line?.fields["cause"])).toMatch(database.name === "postgres" ? /^23505$/ : /SQLITE/);
    expect(String(line?.fields["advice"])).toContain("The database refused a statement");
    expect(JSON.stringify(line?.fields)).not.toContain("ann@example.com");
  });
});
