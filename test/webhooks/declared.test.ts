/** Subscriptions under an id that their subscriber chose. */
import { expect, it } from "vitest";
import { generateWebhookSecret } from "amends/webhooks";
import { NOTE, onEachForm, stage } from "./support/stage.ts";

const ACME = { id: "acme-orders", url: "https://acme.example/hook", events: ["order.*"] };

onEachForm((database) => {
  it("[W-19] a program that subscribes at each of ten starts has one subscription, and nothing of it changes", async () => {
    const { amends, clock, rows } = await stage(database);
    const secret = generateWebhookSecret();
    const first = await amends.webhooks.subscribe({ ...ACME, secret });
    expect(first).toMatchObject({ key: "acme-orders", status: "Active", secret, liveSecrets: 1 });
    const before = await rows("webhook_subscriptions");
    for (let start = 1; start < 10; start++) {
      clock.jump(1_000);
      expect(await amends.webhooks.subscribe({ ...ACME, secret })).toEqual(first);
    }
    expect(await rows("webhook_subscriptions")).toEqual(before);
  });

  it("[W-19] processes that start at the same moment make one", async () => {
    const { amends, rows, publish, work, world } = await stage(database);
    const secret = generateWebhookSecret();
    const made = await Promise.all(
      Array.from({ length: 5 }, () => amends.webhooks.subscribe({ ...ACME, secret })),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(await rows("webhook_subscriptions")).toHaveLength(1);
    await publish();
    await work();
    expect(world.sent).toMatchObject([{ url: ACME.url, secrets: [secret] }]);
  });

  it("[W-19] other settings replace those that it had, and what is left out returns to its default", async () => {
    const { amends, publish, work, world } = await stage(database);
    const { id } = await amends.webhooks.subscribe({ ...ACME, filter: { region: "eu" }, concurrency: 9 });
    const again = await amends.webhooks.subscribe({
      ...ACME,
      url: "https://acme.example/new",
      events: ["user.*"],
    });
    expect(again).toMatchObject({ id, url: "https://acme.example/new", concurrency: 4, filter: {} });
    await publish("order.placed");
    await publish("user.born");
    await work();
    expect(world.sent.map(({ url, body }) => [url, body.includes("user.born")])).toEqual([
      ["https://acme.example/new", true],
    ]);
  });

  it("[W-16][W-19] another secret replaces the one that it had, which signs beside it for a day", async () => {
    const { amends, publish, work, later, world } = await stage(database);
    const [old, fresh] = [generateWebhookSecret(), generateWebhookSecret()];
    await amends.webhooks.subscribe({ ...ACME, secret: old });
    expect(await amends.webhooks.subscribe({ ...ACME, secret: fresh })).toMatchObject({ secret: fresh });
    await publish();
    await work();
    expect(world.sent.at(-1)?.secrets).toEqual([fresh, old]);
    await later(86_400_000);
    await publish();
    await work();
    expect(world.sent.at(-1)?.secrets).toEqual([fresh]);
  });

  it("[W-16] a secret that was made is shown once; without one the subscription keeps what it has", async () => {
    const { amends, publish, work, world } = await stage(database);
    const { secret } = await amends.webhooks.subscribe(ACME);
    expect(secret).toMatch(/^whsec_/);
    expect((await amends.webhooks.subscribe(ACME)).secret).toBeUndefined();
    await publish();
    await work();
    expect(world.sent.at(-1)?.secrets).toEqual([secret]);
  });

  it("[W-19] one that was paused, disabled or deleted is not taken up again", async () => {
    const { amends, publish, work, world, rows } = await stage(database);
    world.answer = () => ({ ok: false, code: "gone", status: 410, gone: true });
    await amends.webhooks.subscribe(ACME);
    await amends.webhooks.pause("acme-orders", NOTE);
    expect(await amends.webhooks.subscribe(ACME)).toMatchObject({ status: "Paused" });
    await amends.webhooks.enable("acme-orders");
    await publish();
    await work();
    const changed = await amends.webhooks.subscribe({ ...ACME, concurrency: 7 });
    expect(changed).toMatchObject({ status: "Disabled", reason: "gone", concurrency: 7 });
    await amends.webhooks.unsubscribe("acme-orders", NOTE);
    const before = await rows("webhook_subscriptions");
    expect(await amends.webhooks.subscribe({ ...ACME, concurrency: 8 })).toMatchObject({
      status: "Deleted",
      concurrency: 7,
      secret: undefined,
    });
    expect(await rows("webhook_subscriptions")).toEqual(before);
  });

  it("[W-19] every call takes the subscriber's id in the place of the number", async () => {
    const { amends, publish, work, world, clock } = await stage(database, { retry: { attempts: 1 } });
    world.answer = () => ({ ok: false, code: "http_500" });
    const { id } = await amends.webhooks.subscribe(ACME);
    const since = new Date(clock.virtualNowMs());
    await publish();
    await work();
    const { webhooks } = amends;
    expect(await webhooks.subscription("acme-orders")).toMatchObject({ id, key: "acme-orders" });
    expect(await webhooks.deliveries({ subscriptionId: "acme-orders" })).toHaveLength(1);
    expect(await webhooks.deadLetters({ subscriptionId: "acme-orders" })).toHaveLength(1);
    expect(await webhooks.update("acme-orders", { concurrency: 2 })).toMatchObject({ id, concurrency: 2 });
    expect(await webhooks.pause("acme-orders")).toMatchObject({ id, status: "Paused" });
    expect(await webhooks.enable("acme-orders")).toMatchObject({ id, status: "Active" });
    expect(await webhooks.rotateSecret("acme-orders")).toMatchObject({ id, liveSecrets: 2 });
    expect(await webhooks.ping("acme-orders")).toMatchObject({ subscriptionId: id });
    expect(await webhooks.resendSince("acme-orders", { since })).toBe(1);
    expect(await webhooks.unsubscribe("acme-orders")).toMatchObject({ id, status: "Deleted" });
    for (const call of [
      () => webhooks.subscription("acme"),
      () => webhooks.pause("acme"),
      () => webhooks.deliveries({ subscriptionId: "acme" }),
    ])
      await expect(call()).rejects.toMatchObject({ code: "WEBHOOK_NOT_FOUND" });
  });

  it.each(["", "7", "7seas", "a b", "a/b", "-a", `a${"b".repeat(128)}`])(
    "[K-20] %j is no id of one's own, and nothing is written",
    async (id) => {
      const { amends, rows } = await stage(database);
      await expect(amends.webhooks.subscribe({ ...ACME, id })).rejects.toMatchObject({ code: "BAD_ID" });
      expect(await rows("webhook_subscriptions")).toEqual([]);
    },
  );
});
