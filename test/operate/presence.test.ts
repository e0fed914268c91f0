/** Without a worker nothing is processed: whoever waits or looks is told. */
import { Amends, saga, type Logger } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { readWorkers } from "../../src/runtime/presence/presence.ts";
import { sql } from "../../src/storage/sql.ts";
import { cli } from "../cli/support/cli.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { until } from "../support/until.ts";

const order = saga("order", z.object({})).step("one", { act: () => 1 });

onEachDatabase((database) => {
  it("[P-01] a wait without a worker is told once, and its end says that none is running", async () => {
    const clock = virtualClock();
    const said: string[] = [];
    const note = (_: object, message: string): void => void said.push(message);
    const logger: Logger = { info: note, warn: note, error: note };
    const amends = await database.amends({ clock, sagas: [order], logger });
    const runs = await Promise.all(["o-1", "o-2"].map((id) => amends.start(order, {}, { id })));
    const waits = runs.map((run) => run.result({ timeout: "30s" }).catch((error: unknown) => error));
    await until(async () => {
      await clock.advance(1_000);
      return said.length > 0;
    });
    expect(said).toEqual([expect.stringContaining("no worker is running")]);
    await clock.advance(30_000);
    for (const error of await Promise.all(waits)) {
      expect(error).toMatchObject({ code: "STOPPED_WAITING", details: { isWorkerRunning: false } });
      expect((error as Error).message).toContain("no worker is running");
    }
    expect(said).toHaveLength(1);
    // With a worker elsewhere, a wait ends without that.
    await database.worker(await database.amends({ clock }));
    const over = (await amends.get("o-1")).result({ timeout: "1ms" }).catch((error: unknown) => error);
    await until(() => clock.advance(1_000).then(() => true));
    expect(await over).toMatchObject({ details: { isWorkerRunning: true } });
  });

  it("[P-01] a worker says every 15 seconds that it runs, once more when it stops, and is gone after a minute of silence", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const amends = new Amends({ database: db, sagas: [order] });
    expect(await readWorkers(db)).toEqual({ running: 0, seenMsAgo: undefined, silentMs: undefined });
    const worker = amends.worker();
    await worker.start();
    await until(async () => {
      await clock.advance(30_000);
      return (await readWorkers(db)).seenMsAgo === 0;
    });
    expect(await readWorkers(db)).toEqual({ running: 1, seenMsAgo: 0, silentMs: 0 });
    await worker.stop();
    expect(await readWorkers(db)).toEqual({ running: 0, seenMsAgo: 0, silentMs: undefined });
    await db.query(sql`update ${db.dialect.table("workers")} set stopped_at = null`);
    await clock.advance(59_999);
    expect(await readWorkers(db)).toMatchObject({ running: 1, silentMs: 59_999 });
    await clock.advance(1);
    expect((await readWorkers(db)).running).toBe(0);
    // A row that is a day old is used again.
    await clock.advance(86_400_000);
    const later = new Amends({ database: db, sagas: [order] }).worker();
    await later.start();
    const rows = await db.query(sql`select owner from ${db.dialect.table("workers")}`);
    expect(rows).toHaveLength(1);
    expect(await readWorkers(db)).toEqual({ running: 1, seenMsAgo: 0, silentMs: 0 });
    await later.stop();
  });

  it("[P-01] a run of a cron job is no worker: it is recorded as a run, and a caller that waits is not warned after it", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const amends = new Amends({ database: db, sagas: [order] });
    await amends.worker().runOnce();
    await clock.advance(30_000);
    expect(await readWorkers(db)).toEqual({ running: 0, runMsAgo: 30_000 });
    const run = await amends.start(order, {}, { id: "o-1" });
    const ends = async (): Promise<unknown> => {
      const over = run.result({ timeout: "1ms" }).catch((error: unknown) => error);
      await until(() => clock.advance(1_000).then(() => true));
      return over;
    };
    expect(await ends()).toMatchObject({ details: { isWorkerRunning: true } });
    await clock.advance(300_000);
    expect(await ends()).toMatchObject({ details: { isWorkerRunning: false } });
    // A worker that was seen later counts, and not the run before it.
    const worker = amends.worker();
    await worker.start();
    expect(await readWorkers(db)).toMatchObject({ running: 1, runMsAgo: undefined });
    await worker.stop();
    expect(await readWorkers(db)).toMatchObject({ running: 0, runMsAgo: undefined });
  });

  it("[P-03] `amends status` and `amends doctor` say when the last run of a cron job began, and warn only if due work waits", async () => {
    const db = await database.open();
    const { dialect } = db;
    const amends = new Amends({ database: db, sagas: [order] });
    const place = await database.place();
    const findings = async (): Promise<readonly Finding[]> => {
      const { out } = await cli(["doctor", "--json", "--database", place]);
      const all = (JSON.parse(out) as { findings: readonly Finding[] }).findings;
      return all.filter(({ check }) => check === "workers" || check === "progress");
    };
    const status = async (): Promise<string> => (await cli(["status", "--database", place])).out;
    await amends.worker().runOnce();
    const ago = dialect.plusMs(dialect.now(), -130_000);
    await db.query(sql`update ${dialect.table("workers")} set seen_at = ${ago}`);
    const detail = expect.stringMatching(/^cron runs: the last one began 2 m.* ago$/) as string;
    expect(await findings()).toMatchObject([
      { level: "ok", detail },
      { level: "ok", detail: "nothing is due" },
    ]);
    expect(await status()).toMatch(/workers +cron runs: the last one began 2 m[^.]* ago\n/);
    // Due since before the last run began, for a moment: the next run takes it.
    await amends.start(order, {}, { id: "o-1" });
    const due = (ms: number): Promise<unknown> =>
      db.query(
        sql`update ${dialect.table("saga_executions")} set next_attempt_at = ${dialect.plusMs(dialect.now(), -ms)} where id = 'o-1'`,
      );
    await due(100_000);
    expect(await findings()).toMatchObject([
      { level: "warn", detail, advice: expect.stringContaining("cron job") as string },
      { level: "ok" },
    ]);
    expect(await status()).toMatch(/began 2 m[^.]* ago\. Due work waits for the next run/);
    expect(await status()).not.toContain("no worker");
    await due(400_000);
    expect(await findings()).toMatchObject([{ level: "warn" }, { level: "wrong" }]);
  });

  it("[P-03] `amends status` and `amends doctor` say that no worker is running, how many are, and when the most silent one was last heard", async () => {
    const amends = await database.amends({ sagas: [order] });
    const place = await database.place();
    const workersIn = async (): Promise<Finding | undefined> => {
      const { out } = await cli(["doctor", "--json", "--database", place]);
      return (JSON.parse(out) as { findings: readonly Finding[] }).findings.find(
        ({ check }) => check === "workers",
      );
    };
    expect(await workersIn()).toMatchObject({ level: "warn", advice: expect.any(String) as string });
    expect((await workersIn())?.detail).toBe("no worker is running; none has ever run here");
    expect((await cli(["status", "--database", place])).out).toContain("no worker is running");
    await database.worker(amends);
    expect(await workersIn()).toMatchObject({
      level: "ok",
      detail: expect.stringMatching(/^1 worker running, last heard .+ ago$/) as string,
    });
    expect((await cli(["status", "--database", place])).out).toMatch(
      /workers +1 running, last heard [\d.]+ \w+ ago\n/,
    );
    // A worker that was killed says nothing more.
    const db = await database.open();
    const { dialect } = db;
    const before = dialect.plusMs(dialect.now(), -41_000);
    await db.query(sql`insert into ${dialect.table("workers")} (owner, started_at, seen_at)
      values ('killed', ${before}, ${before})`);
    expect(await workersIn()).toMatchObject({
      level: "warn",
      detail: expect.stringMatching(
        /^2 workers running, the most silent one last heard 4\d s ago$/,
      ) as string,
    });
    expect((await cli(["status", "--database", place])).out).toMatch(
      /2 running, the most silent one last heard 4\d s ago\. Workers say every 15 s that they run/,
    );
  });
});
