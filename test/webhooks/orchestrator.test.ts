/**
 * The orchestrator in a process of its own, on PostgreSQL under a login that has its role alone: what it must not do, it
 * cannot do there, and it does its work.
 */
import { expect, it } from "vitest";
import type { Amends } from "amends";
import { sql } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { loginAs } from "./support/logins.ts";
import { failed, stage, World, type Stage } from "./support/stage.ts";

interface Divided extends Stage {
  /** Of the orchestrator's process: nothing may ever be sent there. */
  readonly outside: World;
  decide(): Promise<number>;
  send(): Promise<number>;
}

async function divided(database: TestDatabase): Promise<Divided> {
  const on = await stage(database, { retry: { attempts: 2 } });
  const outside = new World();
  const login = async (part: "orchestrator" | "sender", sender: World): Promise<Amends> =>
    database.amends({
      database:
        database.name === "postgres"
          ? await loginAs(database, [part], on.clock)
          : await database.open({ clock: on.clock }),
      webhooks: { sender, retry: { attempts: 2 }, spread: 0 },
    });
  const deciding = (await login("orchestrator", outside)).worker({ only: ["webhooks:orchestrator"] });
  const sending = (await login("sender", on.world)).worker({ only: ["webhooks:sender"] });
  return { ...on, outside, decide: () => deciding.runOnce(), send: () => sending.runOnce() };
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[W-04] it creates jobs and applies their results, and sends nothing", async () => {
    const { outside, world, subscribe, publish, decide, send, states } = await divided(database);
    await subscribe("a");
    await publish();
    expect(await decide()).toBe(1);
    expect(await states()).toEqual(["InProgress 0"]);
    expect([outside.sent, world.sent]).toEqual([[], []]);
    expect(await send()).toBe(1);
    // The sender has settled its job, and decides nothing.
    expect(await states()).toEqual(["InProgress 0"]);
    expect(await decide()).toBe(1);
    expect(await states()).toEqual(["Completed 1"]);
    expect([outside.sent.length, world.sent.length]).toEqual([0, 1]);
  });

  it("[W-04] the jobs that it creates are nobody's: it writes no column of a lease", async () => {
    const { subscribe, publish, decide, rows } = await divided(database);
    await subscribe("a");
    await publish();
    await decide();
    expect(await rows("webhook_jobs")).toMatchObject([
      { status: "Pending", attempts: 0, owner: null, last_attempt_at: null },
    ]);
    expect(Number((await rows("webhook_jobs"))[0]?.["token"])).toBe(0);
  });

  it("[W-04] it changes neither events nor subscriptions, also where a receiver is gone", async () => {
    const { world, subscribe, publish, decide, send, rows, states } = await divided(database);
    await subscribe("a", { concurrency: 1 });
    for (let n = 0; n < 2; n++) await publish();
    world.answer = () => ({ ok: false, code: "gone", status: 410, gone: true });
    const before = [await rows("webhook_events"), await rows("webhook_subscriptions")];
    await decide();
    await send();
    await decide();
    expect((await states()).toSorted()).toEqual(["DeadLettered 1", "Pending 0"]);
    expect([await rows("webhook_events"), await rows("webhook_subscriptions")]).toEqual(before);
    // Who disables is another role. Until it has, nothing more is made for this subscription.
    expect(await decide()).toBe(0);
    expect(await send()).toBe(0);
    expect(world.sent).toHaveLength(1);
  });

  it("[W-07][W-08] it applies a result once, however often it is asked, and files the dead letter with it", async () => {
    const { world, clock, subscribe, publish, decide, send, rows, states } = await divided(database);
    world.answer = () => failed();
    await subscribe("a");
    await publish();
    for (const _ of [1, 2]) {
      await decide();
      await send();
      expect((await rows("webhook_jobs")).at(-1)).toMatchObject({ status: "Failed" });
      expect([await decide(), await decide()]).toEqual([1, 0]);
      clock.jump(30_000);
    }
    expect(await states()).toEqual(["DeadLettered 2"]);
    const [letter] = await rows("dead_letters");
    expect(letter).toMatchObject({ status: "Open", error_code: "http_503", attempt_count: 2 });
    expect((await rows("webhook_jobs")).map((row) => row["result"])).toEqual([null, null]);
  });
});

onDatabase("postgres", (database) => {
  checkInvariantsAfterEach(database);

  it("[W-04] it reads no payload: a database that keeps payloads from it does not keep it from its work", async () => {
    const { db, world, subscribe, publish, decide, send, states } = await divided(database);
    await subscribe("a");
    await publish();
    world.answer = () => failed();
    const own = await loginAs(database, ["orchestrator"]);
    const read = own.query(sql`select payload from ${db.dialect.table("webhook_events")}`);
    await expect(read).rejects.toMatchObject({ code: "42501" });
    await own.close();
    await decide();
    await send();
    await decide();
    expect(await states()).toEqual(["PendingRetry 1"]);
  });
});
