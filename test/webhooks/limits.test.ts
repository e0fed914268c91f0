import { expect, it } from "vitest";

import { gate } from "../sagas/support/gate.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { parts } from "./support/parts.ts";
import { failed, NOTE, onEachForm, stage } from "./support/stage.ts";

const SENT = {
  url: "https://a.example/hook",
  sentAtMs: 1,
  status: 410,
  durationMs: 1,
  responseHeaders: null,
  responseBody: null,
};

onEachForm((database) => {
  checkInvariantsAfterEach(database);

  it("[W-10] the limit counts all attempts; a subscription's own goes before the general one, and the one used is kept", async () => {
    const { amends, subscribe, publish, work, later, world } = await stage(database, {
      retry: { attempts: 3 },
    });
    world.answer = () => failed();
    const [general, own, once] = [
      await subscribe("a"),
      await subscribe("b", { attempts: 2 }),
      await subscribe("c", { attempts: 1 }),
    ];
    await publish();
    await work();
    for (const wait of [30_000, 60_000, 120_000, 240_000]) await later(wait);
    const of = async (subscriptionId: string): Promise<unknown> =>
      (await amends.webhooks.deliveries({ subscriptionId })).map((one) => [
        one.status,
        one.attemptCount,
        one.attemptMax,
      ]);
    expect(await of(general)).toEqual([["DeadLettered", 3, 3]]);
    expect(await of(own)).toEqual([["DeadLettered", 2, 2]]);
    expect(await of(once)).toEqual([["DeadLettered", 1, 1]]);
  });

  it("[W-03][W-06] a limit that is lowered while a delivery waits ends it without another call", async () => {
    const { amends, subscribe, publish, work, later, world, states, rows } = await stage(database);
    world.answer = () => failed();
    const id = await subscribe("a");
    await publish();
    await work();
    await later(30_000);
    expect(await states()).toEqual(["PendingRetry 2"]);
    await amends.webhooks.update(id, { attempts: 2 });
    expect(await later(59_999)).toBe(0);
    expect(await states()).toEqual(["PendingRetry 2"]);
    await later(1);
    expect(world.sent).toHaveLength(2);
    expect(await rows("webhook_delivery_sagas")).toMatchObject([
      { status: "DeadLettered", attempt_count: 2, attempt_max: 2, final_error_code: "http_503" },
    ]);
    expect(await amends.webhooks.deadLetters()).toMatchObject([{ attemptCount: 2, errorCode: "http_503" }]);
  });

  it("[W-03] a limit that is raised lets it go on", async () => {
    const { amends, subscribe, publish, work, later, world, states } = await stage(database, {
      retry: { attempts: 2 },
    });
    world.answer = () => failed();
    const id = await subscribe("a");
    await publish();
    await work();
    await amends.webhooks.update(id, { attempts: 5 });
    await later(30_000);
    expect(await states()).toEqual(["PendingRetry 2"]);
  });

  it("[W-17] a receiver may ask for more time", async () => {
    const { subscribe, publish, work, later, world } = await stage(database);
    world.answer = () => ({ ...failed(), retryAfterMs: 600_000 });
    await subscribe("a");
    await publish();
    await work();
    expect(await later(599_999)).toBe(0);
    expect(await later(1)).toBe(1);
  });

  it("[K-02] deliveries that fail together wake apart, and always at the same instant", async () => {
    const { subscribe, publish, work, world, rows } = await stage(database, { spread: 0.2 });
    world.answer = () => failed();
    for (let n = 0; n < 8; n++) await subscribe(`a${n}`);
    await publish();
    await work();
    const gates = (await rows("webhook_delivery_sagas")).map((row) =>
      Number(new Date(row["next_attempt_at"] as never)),
    );
    expect(new Set(gates).size).toBeGreaterThan(6);
  });

  it("[W-17] a receiver that is gone is told nothing more: the delivery is dead, the subscription disabled", async () => {
    const signals: unknown[] = [];
    const { amends, subscribe, publish, work, world, states } = await stage(database, {
      onDisabled: (signal) => void signals.push(signal),
    });
    const watcher = await subscribe("ops", { events: ["amends.*"] });
    const id = await subscribe("a", { concurrency: 1 });
    world.answer = ({ url }) =>
      url.includes("//a.") ? { ok: false, code: "gone", status: 410, gone: true } : {};
    await publish();
    await publish();
    await work();
    // The second one is not sent, and ends as well.
    expect(world.calls).toEqual({ "https://a.example/hook": 1, "https://ops.example/hook": 1 });
    expect((await states()).toSorted()).toEqual(["Completed 1", "DeadLettered 1", "DeadLettered 1"]);
    expect((await amends.webhooks.deadLetters()).map(({ errorCode }) => errorCode)).toEqual([
      "gone",
      "subscription_disabled",
    ]);
    expect(await amends.webhooks.subscription(id)).toMatchObject({ status: "Disabled", reason: "gone" });
    expect(signals).toEqual([{ subscriptionId: id, reason: "gone" }]);
    const notice = world.sent.find(({ url }) => url.includes("ops"));
    expect(JSON.parse(notice?.body ?? "")).toEqual({
      type: "amends.subscription.disabled",
      data: { subscriptionId: id, reason: "gone" },
    });
    // Nothing is routed to it until somebody enables it.
    await publish();
    expect(await amends.webhooks.deliveries({ subscriptionId: id })).toHaveLength(2);
    await amends.webhooks.enable(id);
    await publish();
    expect(await amends.webhooks.deliveries({ subscriptionId: id })).toHaveLength(3);
    expect(await amends.webhooks.subscription(watcher)).toMatchObject({ status: "Active" });
    await amends.webhooks.unsubscribe(watcher, NOTE);
  });

  it("[W-17] several calls that find out together that a receiver is gone disable it once, and nothing more is sent", async () => {
    const signals: unknown[] = [];
    const { amends, subscribe, publish, work, world, rows } = await stage(database, {
      onDisabled: (signal) => void signals.push(signal),
    });
    await subscribe("ops", { events: ["amends.*"] });
    const id = await subscribe("a", { events: ["order.*"], concurrency: 8 });
    const all = gate();
    let reached = 0;
    world.answer = async ({ url }) => {
      if (!url.includes("//a.")) return {};
      // Nobody is answered before the eighth is there.
      if ((reached += 1) === 8) all.open();
      await all.pass();
      return { ok: false, code: "gone", status: 410, gone: true };
    };
    for (let n = 0; n < 20; n++) await publish();
    await work();
    expect(world.calls).toEqual({ "https://a.example/hook": 8, "https://ops.example/hook": 1 });
    const codes = (await rows("dead_letters")).map((row) => row["error_code"]);
    const counts = ["gone", "subscription_disabled"].map(
      (code) => codes.filter((one) => one === code).length,
    );
    expect([codes.length, ...counts]).toEqual([20, 8, 12]);
    expect(await amends.webhooks.subscription(id)).toMatchObject({ status: "Disabled", reason: "gone" });
    expect(signals).toEqual([{ subscriptionId: id, reason: "gone" }]);
  });

  it("[W-17] a subscription that is about to be disabled gets nothing more, also if nobody disables it yet", async () => {
    const { amends, db, isSplit, subscribe, publish } = await stage(database);
    const id = await subscribe("a", { concurrency: 2 });
    for (let n = 0; n < 5; n++) await publish();
    const { take, write, deliverySender } = parts(db, { isSplit });
    const [first, second] = await take();
    if (!first || !second) throw new Error("nothing was due");
    const gone = { ok: false, code: "gone", final: true, gone: true };
    expect(await write(deliverySender.report(first, gone, SENT))).toBe("accepted");
    expect(await take()).toEqual([]);
    // A success that was under way does not take back what the receiver has said.
    expect(await write(deliverySender.report(second, { ok: true, code: "http_200" }, SENT))).toBe("accepted");
    expect(await take()).toEqual([]);
    expect(await amends.webhooks.subscription(id)).toMatchObject({ status: "Active" });
    await amends.webhooks.enable(id);
    expect(await take()).toHaveLength(2);
  });

  it("[W-17] a result that no retry can help ends its delivery, and leaves the subscription active", async () => {
    const { amends, db, isSplit, subscribe, publish } = await stage(database);
    const id = await subscribe("a", { concurrency: 1 });
    await publish();
    await publish();
    const { take, write, deliverySender } = parts(db, { isSplit });
    const [first] = await take();
    if (!first) throw new Error("nothing was due");
    const refused = { ok: false, code: "http_413", final: true };
    expect(await write(deliverySender.report(first, refused, SENT))).toBe("accepted");
    expect(await take()).toHaveLength(1);
    expect(await amends.webhooks.subscription(id)).toMatchObject({ status: "Active" });
  });

  it("[W-19] a subscription that only fails for long enough is disabled, one that answers in between is not", async () => {
    const { amends, subscribe, publish, later, world } = await stage(database, {
      disableAfter: "1h",
      retry: { attempts: 100, base: "5m", cap: "5m" },
    });
    const dead = await subscribe("dead");
    const flaky = await subscribe("flaky");
    let turn = 0;
    world.answer = ({ url }) => (url.includes("dead") || turn % 5 !== 0 ? failed() : {});
    for (turn = 1; turn <= 13; turn++) {
      await publish();
      await later(300_000);
    }
    expect(await amends.webhooks.subscription(dead)).toMatchObject({ status: "Disabled", reason: "failing" });
    expect(await amends.webhooks.subscription(flaky)).toMatchObject({ status: "Active" });
    const enabled = await amends.webhooks.enable(dead);
    expect(enabled).toMatchObject({
      status: "Active",
      reason: undefined,
      failures: 0,
      failingSince: undefined,
    });
  });
});
