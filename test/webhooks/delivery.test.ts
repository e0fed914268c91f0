import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";

import { failed, onEachForm, stage } from "./support/stage.ts";

onEachForm((database) => {
  it("[W-15][W-09] what is published arrives, with the exact bytes, and the delivery is completed", async () => {
    const { amends, subscribe, publish, work, world, states } = await stage(database);
    const subscription = await subscribe("a");
    const id = await publish("order.placed", { data: { text: "é\u0000" }, id: "e-1" });
    expect(await states()).toEqual(["Pending 0"]);
    expect(await work()).toBe(1);
    expect(world.sent).toMatchObject([
      {
        url: "https://a.example/hook",
        id: "e-1",
        body: '{"type":"order.placed","data":{"text":"é\\u0000"}}',
      },
    ]);
    const [delivery] = await amends.webhooks.deliveries({ eventId: id });
    expect(delivery).toMatchObject({ status: "Completed", attemptCount: 1, errorCode: undefined });
    expect(delivery?.subscriptionId).toBe(subscription);
    expect(await amends.webhooks.attempts(delivery?.id as string)).toMatchObject([
      { verdict: "accepted", ok: true, code: "http_200", status: 200, url: "https://a.example/hook" },
    ]);
  });

  it("[W-06] a delivery that waits and has an active job all the same gets no other, and is in nobody's way", async () => {
    const { db, query, subscribe, publish, work, world, states } = await stage(database);
    await subscribe("a");
    await subscribe("b", { ordered: true });
    await subscribe("c");
    await publish();
    const { dialect } = db;
    // Nothing here leads to this: it is as if somebody had written to the tables by hand.
    await query(sql`insert into ${dialect.table("webhook_jobs")}
        (saga_id, event_id, subscription_id, attempt, created_at, next_attempt_at)
      select s.id, s.event_id, s.subscription_id, 5, ${dialect.now()}, ${dialect.plusMs(dialect.now(), 3_600_000)}
      from ${dialect.table("webhook_delivery_sagas")} as s
      join ${dialect.table("webhook_subscriptions")} as p on p.id = s.subscription_id
      where p.url not like '%//c.%'`);
    expect(await work()).toBe(1);
    expect(world.sent.map(({ url }) => url)).toEqual(["https://c.example/hook"]);
    expect((await states()).toSorted()).toEqual(["Completed 1", "Pending 0", "Pending 0"]);
  });

  it("[W-06] a delivery that waits for its retry gets no job beside one that is due", async () => {
    const { subscribe, publish, work, later, world, states } = await stage(database);
    await subscribe("a");
    world.answer = ({ id }, nth) => (id === "e-1" && nth === 1 ? failed() : {});
    await publish("order.placed", { id: "e-1" });
    await work();
    // The endpoint answers again: from here on it has room for several.
    for (const id of ["e-2", "e-3"]) {
      await publish("order.placed", { id });
      await work();
    }
    expect(world.sent.map(({ id }) => id)).toEqual(["e-1", "e-2", "e-3"]);
    expect((await states()).toSorted()).toEqual(["Completed 1", "Completed 1", "PendingRetry 1"]);
    await later(30_000);
    expect(world.sent.map(({ id }) => id).at(-1)).toBe("e-1");
  });

  it("[W-08] a delivery that fails is tried again on the schedule, and then among the dead letters", async () => {
    const { amends, subscribe, publish, work, later, world, states } = await stage(database, {
      retry: { attempts: 3 },
    });
    world.answer = () => failed();
    await subscribe("a");
    await publish();
    expect(await work()).toBe(1);
    expect(await states()).toEqual(["PendingRetry 1"]);
    expect(await later(29_999)).toBe(0);
    expect(await later(1)).toBe(1);
    expect(await later(59_999)).toBe(0);
    expect(await later(1)).toBe(1);
    expect(await states()).toEqual(["DeadLettered 3"]);
    expect(await amends.webhooks.deadLetters()).toMatchObject([{ errorCode: "http_503", attemptCount: 3 }]);
  });
});
