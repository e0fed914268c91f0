/** The readiness of a worker inside a service of one's own: `worker.ready()`. */
import { Amends, saga } from "amends";
import { MemorySagaStorage } from "amends/storage";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { raw } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { until } from "../support/until.ts";

const order = saga("order", z.object({})).step("one", { act: () => 1 });

/** The statements that make every update of a saga fail, as a missing right does, and that end this. */
const REFUSAL = {
  sqlite: [
    [
      "create trigger refused before update on amends_saga_executions begin select raise(abort, 'refused'); end",
    ],
    ["drop trigger refused"],
  ],
  postgres: [
    [
      "create function public.refuse_update() returns trigger language plpgsql as $$ begin raise insufficient_privilege; end $$",
      "create trigger refused before update on amends.saga_executions for each row execute function public.refuse_update()",
    ],
    ["drop trigger refused on amends.saga_executions", "drop function public.refuse_update()"],
  ],
} as const;

onEachDatabase((database) => {
  it("[C-11] a worker is ready between its first look for work and its stop", async () => {
    const clock = virtualClock();
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    const slow = saga("slow", z.object({})).step("one", { act: () => asked });
    const amends = await database.amends({ clock, sagas: [slow] });
    const worker = amends.worker();
    const notRunning = { name: "worker", ok: false, detail: "is not running yet" };
    expect(await worker.ready()).toMatchObject({ ready: false });
    expect((await worker.ready()).checks).toContainEqual(notRunning);
    await worker.start();
    await until(() => clock.advance(1_000).then(async () => (await worker.ready()).ready));
    expect(await worker.ready()).toMatchObject({ ready: true, workers: 1 });
    await amends.start(slow, {}, { id: "o-1" });
    const stopped = worker.stop();
    expect(await worker.ready()).toMatchObject({
      ready: false,
      checks: [{ name: "worker", ok: false, detail: "is stopping" }],
    });
    answer();
    await stopped;
    expect((await worker.ready()).checks).toContainEqual(notRunning);
  });

  it("[P-05][C-11] a worker that cannot claim is not ready, although it runs and the database answers", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const amends = new Amends({ database: db, sagas: [order] });
    onTestFinished(() => amends.close());
    const worker = amends.worker();
    await worker.start();
    await until(() => clock.advance(1_000).then(async () => (await worker.ready()).ready));
    const [refuse, allow] = REFUSAL[database.name];
    for (const statement of refuse) await db.query(raw(statement));
    await (await database.amends({ clock, sagas: [order] })).start(order, {}, { id: "o-1" });
    await until(() => clock.advance(1_000).then(async () => !(await worker.ready()).ready));
    expect(worker.running).toBe(true);
    const { checks } = await worker.ready();
    expect(checks.filter(({ ok }) => !ok)).toEqual([
      { name: "worker", ok: false, detail: expect.stringContaining("claim sagas") as string },
    ]);
    for (const statement of allow) await db.query(raw(statement));
    await until(() => clock.advance(1_000).then(async () => (await worker.ready()).ready));
  });

  it("[C-11] due work that lies still for longer than `stuckAfter` makes a worker not ready", async () => {
    const clock = virtualClock();
    const amends = await database.amends({ clock, sagas: [order], webhooks: {} });
    const elsewhere = await database.amends({ clock, sagas: [order] });
    const worker = amends.worker({ only: ["webhooks"] });
    await worker.start();
    await elsewhere.start(order, {}, { id: "o-1" });
    await clock.advance(61_000);
    const of = async (stuckAfter: `${number}m`): Promise<boolean | undefined> =>
      (await worker.ready({ stuckAfter })).checks.find(({ name }) => name === "due sagas")?.ok;
    expect([await of("1m"), await of("2m")]).toEqual([false, true]);
    await expect(worker.ready({ stuckAfter: "0s" })).rejects.toMatchObject({ code: "BAD_DURATION" });
  });
});

it("[C-11] a worker on a storage of one's own is ready while it looks for work", async () => {
  const amends = new Amends({ storage: new MemorySagaStorage(), sagas: [order] });
  onTestFinished(() => amends.close());
  const worker = amends.worker({ poll: "1ms" });
  expect((await worker.ready()).ready).toBe(false);
  await worker.start();
  await until(async () => (await worker.ready()).ready);
  expect((await worker.ready()).workers).toBeNull();
});
