import { expect, it } from "vitest";

import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { failed, NOTE, onEachForm, stage } from "./support/stage.ts";

const DAY_MS = 86_400_000;

onEachForm((database) => {
  checkInvariantsAfterEach(database);

  it("[W-20] people see events, deliveries and attempts: request, status, duration, part of the response", async () => {
    const { amends, subscribe, publish, work, world, clock } = await stage(database);
    const id = await subscribe("a");
    world.answer = () => ({
      ...failed(),
      durationMs: 42,
      response: { headers: { server: "x" }, body: "no room", truncated: false },
    });
    const eventId = await publish("order.placed", { attributes: { region: "eu" } });
    await work();
    const [delivery, ...others] = await amends.webhooks.deliveries({
      subscriptionId: id,
      status: "PendingRetry",
    });
    expect(others).toEqual([]);
    expect(delivery).toMatchObject({ eventId, eventType: "order.placed", generation: 0, attemptCount: 1 });
    expect(await amends.webhooks.delivery(delivery?.id as string)).toEqual(delivery);
    expect(await amends.webhooks.delivery("99")).toBeUndefined();
    expect(await amends.webhooks.attempts(delivery?.id as string)).toMatchObject([
      {
        url: "https://a.example/hook",
        sentAt: new Date(clock.virtualNowMs()),
        status: 503,
        durationMs: 42,
        responseHeaders: { server: "x" },
        responseBody: "no room",
        ok: false,
      },
    ]);
    expect(await amends.webhooks.event(eventId)).toMatchObject({
      type: "order.placed",
      attributes: { region: "eu" },
      payload: '{"type":"order.placed","data":{"n":1}}',
    });
  });

  it("[W-20] lists go page by page, newest first", async () => {
    const { amends, subscribe, publish } = await stage(database);
    const id = await subscribe("a");
    for (let n = 0; n < 5; n++) await publish();
    const first = await amends.webhooks.deliveries({ limit: 3 });
    const second = await amends.webhooks.deliveries({ limit: 3, after: first.at(-1)?.id as string });
    expect([...first, ...second].map((one) => Number(one.id))).toEqual([5, 4, 3, 2, 1]);
    expect(await amends.webhooks.deliveries({ subscriptionId: id, status: "Completed" })).toEqual([]);
    await expect(amends.webhooks.deliveries({ limit: 0 })).rejects.toMatchObject({ code: "BAD_OPTION" });
    await expect(amends.webhooks.deliveries({ after: "x" })).rejects.toMatchObject({ code: "BAD_ID" });
  });

  it("[W-20] a delivery that ended is sent again as a new one, as often as somebody asks; one under way is not", async () => {
    const { amends, subscribe, publish, work, world, rows } = await stage(database);
    await subscribe("a");
    await publish("order.placed", { id: "e-1" });
    await expect(amends.webhooks.resend("1", NOTE)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    await work();
    const [before] = await rows("webhook_delivery_sagas");
    for (const again of ["2", "3"]) {
      expect(await amends.webhooks.resend("1", NOTE)).toBe(again);
      await work();
    }
    expect(world.sent.map(({ id }) => id)).toEqual(["e-1", "e-1", "e-1"]);
    expect((await rows("webhook_delivery_sagas"))[0]).toEqual(before);
    await expect(amends.webhooks.resend("99", NOTE)).rejects.toMatchObject({ code: "WEBHOOK_NOT_FOUND" });
    await expect(amends.webhooks.resend("1", { reason: "" })).rejects.toMatchObject({ code: "BAD_OPTION" });
  });

  it("[W-20][W-12] a dead delivery that is resent settles its letter", async () => {
    const { amends, subscribe, publish, work, world } = await stage(database, { retry: { attempts: 1 } });
    world.answer = () => failed();
    await subscribe("a");
    await publish();
    await work();
    expect(await amends.webhooks.resend("1", NOTE)).toBe("2");
    expect(await amends.webhooks.delivery("2")).toMatchObject({ requeuedFrom: "1", generation: 1 });
    expect(await amends.webhooks.deadLetters()).toEqual([]);
  });

  it("[W-20] everything since an instant is sent again: what arrived, what died, and what was not routed", async () => {
    const { amends, clock, subscribe, publish, work, world } = await stage(database, {
      retry: { attempts: 1 },
    });
    const id = await subscribe("a", { events: ["order.*"], filter: { region: "eu" } });
    const eu = { attributes: { region: "eu" } };
    await publish("order.early", eu);
    await work();
    clock.jump(1_000);
    const since = new Date(clock.virtualNowMs());
    await publish("order.arrived", eu);
    await work();
    world.answer = () => ({ ok: false, code: "gone", status: 410, gone: true });
    await publish("order.died", eu);
    await work();
    await publish("order.missed", eu);
    await publish("order.elsewhere", { attributes: { region: "us" } });
    await publish("user.born", eu);
    world.answer = () => ({});
    await amends.webhooks.enable(id);
    world.sent.length = 0;
    expect(await amends.webhooks.resendSince(id, { since }, NOTE)).toBe(3);
    // Nothing is made twice while it is on its way.
    expect(await amends.webhooks.resendSince(id, { since }, NOTE)).toBe(0);
    await work();
    expect(world.sent.map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual([
      "order.arrived",
      "order.died",
      "order.missed",
    ]);
    const until = new Date(since.getTime());
    expect(await amends.webhooks.resendSince(id, { since: new Date(0), until }, NOTE)).toBe(1);
  });

  it("[P-02] dead letters and disabled subscriptions need attention, until somebody has seen to them", async () => {
    const { amends, subscribe, publish, work, world } = await stage(database, { retry: { attempts: 1 } });
    const id = await subscribe("a", { concurrency: 1 });
    await subscribe("b");
    world.answer = ({ url }) => (url.includes("//a.") ? { ok: false, code: "gone", gone: true } : failed());
    await publish();
    await work();
    const { items, next } = await amends.attention.list();
    expect(next).toBeUndefined();
    expect(items).toMatchObject([
      { kind: "dead-letter", id: "1", error: "gone", subscription: { id }, actions: ["dismiss", "resend"] },
      { kind: "dead-letter", id: "2", error: "http_503", attempts: 1, actions: ["resend", "dismiss"] },
      { kind: "disabled-subscription", id, error: "gone", actions: ["unsubscribe", "enable"] },
    ]);
    const seen = [];
    for (let after: string | undefined; ;) {
      const page = await amends.attention.list({ limit: 1, ...(after !== undefined && { after }) });
      seen.push(...page.items);
      after = page.next;
      if (after === undefined) break;
    }
    expect(seen).toEqual(items);
    await amends.webhooks.enable(id);
    for (const item of items) if (item.kind === "dead-letter") await amends.webhooks.dismiss(item.id, NOTE);
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it("[P-06] what ended long ago is forgotten in batches; what is open, and what needs a person, stays", async () => {
    const { amends, clock, subscribe, publish, work, world, rows } = await stage(database, {
      retry: { attempts: 1 },
    });
    world.answer = ({ url }) => (url.includes("bad") ? failed() : {});
    await subscribe("good");
    const bad = await subscribe("bad");
    await publish("old");
    await work();
    const [letter] = await amends.webhooks.deadLetters();
    await publish("settled");
    await work();
    for (const { deliveryId } of await amends.webhooks.deadLetters())
      if (deliveryId !== letter?.deliveryId) await amends.webhooks.dismiss(deliveryId, NOTE);
    await publish("nobody");
    clock.jump(30 * DAY_MS);
    await publish("new");
    await amends.webhooks.pause(bad, NOTE);
    await work();
    expect(await amends.webhooks.prune({ olderThan: "20d" })).toEqual({ deliveries: 3, events: 1 });
    const left = (await rows("webhook_events")).map((row) => row["type"]);
    expect(left).toEqual(["old", "nobody", "new"]);
    expect(await amends.webhooks.deadLetters()).toMatchObject([{ deliveryId: letter?.deliveryId }]);
    expect(await amends.webhooks.prune({ olderThan: "20d" })).toEqual({ deliveries: 0, events: 0 });
  });
});
