import { expect, it } from "vitest";
import { generateWebhookSecret } from "amends/webhooks";

import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { parts } from "./support/parts.ts";
import { failed, NOTE, onEachForm, stage } from "./support/stage.ts";

const KEY = "11".repeat(32);

onEachForm((database) => {
  checkInvariantsAfterEach(database);

  it("[W-19] a subscription that is paused is owed what is published, and gets it once it is enabled", async () => {
    const { amends, subscribe, publish, work, world, states } = await stage(database);
    const id = await subscribe("a");
    await publish();
    await amends.webhooks.pause(id, { reason: "maintenance" });
    await publish();
    expect(await work()).toBe(0);
    expect(await amends.webhooks.subscription(id)).toMatchObject({ status: "Paused", reason: "maintenance" });
    expect(await states()).toEqual(["Pending 0", "Pending 0"]);
    await amends.webhooks.enable(id);
    expect(await work()).toBe(2);
    expect(world.sent).toHaveLength(2);
  });

  it("[W-19] a job that was made before the pause waits, too", async () => {
    const { amends, db, subscribe, publish, work, later, world, rows } = await stage(database);
    const id = await subscribe("a", { events: ["order.*"] });
    await publish();
    const { orchestrator, jobs } = parts(db);
    await db.transaction((session) =>
      orchestrator.createJobs(session, 9, (inside, moved) => jobs.create(inside, moved)),
    );
    expect((await rows("webhook_jobs")).map((row) => row["status"])).toEqual(["Pending"]);
    await amends.webhooks.pause(id, NOTE);
    expect(await later(120_000)).toBe(0);
    await subscribe("b", { events: ["other"] });
    await publish("other");
    expect(await work()).toBe(1); // the other one's
    await amends.webhooks.enable(id);
    expect(await work()).toBe(1);
    expect(world.calls).toEqual({ "https://a.example/hook": 1, "https://b.example/hook": 1 });
  });

  it("[W-19] what a deleted subscription is still owed ends among the dead letters, without a call", async () => {
    const { amends, subscribe, publish, work, later, world, states } = await stage(database);
    world.answer = () => failed();
    const id = await subscribe("a");
    await publish();
    await work();
    await amends.webhooks.pause(id, NOTE);
    await publish();
    await amends.webhooks.unsubscribe(id, NOTE);
    await publish();
    await later(60_000);
    expect(world.sent).toHaveLength(1);
    expect(await states()).toEqual(["DeadLettered 2", "DeadLettered 1"]);
    expect((await amends.webhooks.deadLetters()).map(({ errorCode }) => errorCode)).toEqual(
      Array(2).fill("subscription_deleted"),
    );
    for (const order of [
      () => amends.webhooks.enable(id),
      () => amends.webhooks.pause(id, NOTE),
      () => amends.webhooks.update(id, { concurrency: 2 }),
      () => amends.webhooks.rotateSecret(id),
    ])
      await expect(order()).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    expect(await amends.webhooks.unsubscribe(id, NOTE)).toMatchObject({ status: "Deleted" });
  });

  it("[W-19] an answer that comes after the subscription was deleted still counts", async () => {
    const { amends, subscribe, publish, work, world, states } = await stage(database);
    const id = await subscribe("a");
    world.answer = async () => (await amends.webhooks.unsubscribe(id, NOTE), {});
    await publish();
    await work();
    expect(await states()).toEqual(["Completed 1"]);
  });

  it("[W-16][W-19] a secret that is replaced signs beside the new one for the overlap, and then no longer", async () => {
    const { amends, publish, later, work, world } = await stage(database);
    const { id, secret: first } = await amends.webhooks.subscribe({
      url: "https://a.example",
      events: ["*"],
    });
    const { secret: second } = await amends.webhooks.rotateSecret(id, { overlap: "1h" });
    await publish();
    await work();
    expect(world.sent.at(-1)?.secrets).toEqual([second, first]);
    const third = generateWebhookSecret();
    const rotated = await amends.webhooks.rotateSecret(id, { secret: third, overlap: "2h" });
    expect(rotated).toMatchObject({ secret: third, liveSecrets: 3 });
    await later(3_600_000);
    await publish();
    await work();
    expect(world.sent.at(-1)?.secrets).toEqual([third, second]);
    await later(3_600_000);
    await publish();
    await work();
    expect(world.sent.at(-1)?.secrets).toEqual([third]);
  });

  it("[X-03] secrets are sealed in the database when a key is given, and never shown after creation", async () => {
    const { amends, publish, work, world, rows } = await stage(database, { secretKey: KEY });
    const { id, secret } = await amends.webhooks.subscribe({ url: "https://a.example", events: ["*"] });
    const [row] = await rows("webhook_subscriptions");
    expect(row?.["secrets"]).toMatch(/sealed-v1:/);
    expect(String(row?.["secrets"])).not.toContain(secret);
    expect(JSON.stringify(await amends.webhooks.subscription(id))).not.toContain(secret);
    await publish();
    await work();
    expect(world.sent[0]?.secrets).toEqual([secret]);
  });

  it("[X-03] with the wrong key nothing is sent, and the delivery says why", async () => {
    const sealed = await stage(database, { secretKey: KEY });
    await sealed.subscribe("a");
    const other = await stage(database, { secretKey: "22".repeat(32) });
    await other.publish();
    await other.work();
    expect(other.world.sent).toEqual([]);
    const [delivery] = await other.amends.webhooks.deliveries();
    expect(delivery).toMatchObject({ status: "PendingRetry", errorCode: "secret_unreadable" });
  });

  it("[W-19] a ping goes to one subscription, whatever it has subscribed to", async () => {
    const { amends, subscribe, work, world } = await stage(database);
    const id = await subscribe("a", { events: ["order.*"] });
    await subscribe("b");
    const delivery = await amends.webhooks.ping(id);
    expect(delivery).toMatchObject({ eventType: "amends.ping", subscriptionId: id, status: "Pending" });
    await work();
    expect(world.calls).toEqual({ "https://a.example/hook": 1 });
  });

  it("[W-19] what is changed holds for what comes next; what is set to undefined returns to its default", async () => {
    const { amends, subscribe, publish, work, world } = await stage(database);
    const id = await subscribe("a", { events: ["order.*"], rate: { max: 10, per: "1s" }, attempts: 3 });
    const changed = await amends.webhooks.update(id, {
      events: ["user.*"],
      url: "https://b.example/hook",
      attempts: undefined as never,
    });
    expect(changed).toMatchObject({ events: ["user.*"], intervalMs: 100, attempts: undefined });
    await publish("order.placed");
    await publish("user.born");
    await work();
    expect(world.sent.map(({ url, body }) => [url, body.includes("user.born")])).toEqual([
      ["https://b.example/hook", true],
    ]);
  });

  it.each([
    ["no events", { events: [] }, "BAD_OPTION"],
    ["a pattern that is none", { events: ["*.placed"] }, "BAD_OPTION"],
    ["a filter that is none", { filter: { a: [] } }, "BAD_INPUT"],
    ["no attempts", { attempts: 0 }, "BAD_OPTION"],
    ["too many at once", { concurrency: 257 }, "BAD_OPTION"],
    ["a rate of nothing", { rate: { max: 0, per: "1s" } }, "BAD_OPTION"],
    ["a secret that is too short", { secret: "whsec_AAAA" }, "BAD_SECRET"],
    ["a secret that cannot sign", { secret: `whpk_${Buffer.alloc(32).toString("base64")}` }, "BAD_SECRET"],
    ["a misspelt option", { maxAttemps: 3 }, "BAD_OPTION"],
    ["a timeout of minutes", { timeout: "5m" }, "BAD_OPTION"],
  ])("[K-20] %s is refused, and nothing is written", async (_, wrong, code) => {
    const { subscribe, rows } = await stage(database);
    await expect(subscribe("a", wrong)).rejects.toMatchObject({ code });
    expect(await rows("webhook_subscriptions")).toEqual([]);
  });

  it("[W-18][K-20] a URL that would never be called is refused when it is subscribed", async () => {
    const amends = await database.amends({ webhooks: {} });
    for (const url of [
      "http://a.example",
      "https://127.0.0.1/x",
      "https://user:pw@a.example",
      "ftp://a",
      "x",
    ])
      await expect(amends.webhooks.subscribe({ url, events: ["*"] })).rejects.toMatchObject({
        code: "BAD_URL",
      });
    for (const [url, option] of [
      ["http://a.example", "sending: { allowHttp: true }"],
      ["https://a.example:3000", "sending: { allowPorts: [3000] }"],
      ["https://127.0.0.1/x", 'sending: { allowNetworks: ["127.0.0.1"] }'],
    ] as const)
      await expect(amends.webhooks.subscribe({ url, events: ["*"] })).rejects.toThrow(option);
  });
});
