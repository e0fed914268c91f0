import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { failed, stage } from "./support/stage.ts";

onEachDatabase((database) => {
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

  it("[W-08] a delivery that fails is tried again on the schedule, and then among the dead letters", async () => {
    const { amends, subscribe, publish, work, later, world, states } = await stage(database, {
      maxAttempts: 3,
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
