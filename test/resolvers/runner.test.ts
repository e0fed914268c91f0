/** The resolvers as the runner drives them, against real HTTP: what each answer makes of its entry. */
import { expiringMemoryResolver, memoryResolver } from "amends/testing";
import { expect, it, onTestFinished } from "vitest";
import { httpResolver } from "../../src/resolvers/http.ts";
import { stripeResolver } from "../../src/resolvers/stripe.ts";
import { runnerOn } from "../outbox/support/runner.ts";
import { erase, rectify, shop } from "../outbox/support/shop.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { fakeStripe, type FakeStripe } from "./support/fake-stripe.ts";
import { httpServer, type HttpServer, type Reaction } from "./support/http-server.ts";

const DAY = 86_400_000;

async function stripeServer(): Promise<FakeStripe> {
  const stripe = await fakeStripe();
  onTestFinished(() => stripe.close());
  stripe.customers.set("cus_1", { id: "cus_1", object: "customer", email: "old@example.org" });
  return stripe;
}

async function server(reaction: Reaction): Promise<HttpServer> {
  const made = await httpServer(() => reaction);
  onTestFinished(() => made.close());
  return made;
}

onEachDatabase((database) => {
  it("[O-06][O-07] a customer at Stripe is corrected, erased under the entry's id, and verified to be gone", async () => {
    const stripe = await stripeServer();
    const world = await shop(database);
    const runner = runnerOn(world, [stripeResolver(stripe.client())]);
    await world.enqueue(rectify("u-1"));
    await runner.runOnce();
    expect(stripe.customers.get("cus_1")?.["email"]).toBe("new@example.org");
    const [entryId] = await world.enqueue(erase("u-1"));
    await runner.runOnce();
    const deletion = stripe.received.find(({ method }) => method === "DELETE");
    expect(deletion?.headers["idempotency-key"]).toBe(entryId);
    expect(await world.row(entryId as string)).toMatchObject({ status: "succeeded", last_error: null });
    expect(await world.trail("u-1")).toEqual([
      "RECTIFICATION_STEP_SUCCEEDED",
      "RECTIFICATION_COMPLETED",
      "ERASURE_STEP_SUCCEEDED",
      "ERASURE_COMPLETED",
      "ERASURE_EXTERNAL_VERIFIED",
    ]);
  });

  it("[O-08] what an HTTP system refuses is abandoned at once, with the status as its label", async () => {
    const { url } = await server({ status: 403 });
    const world = await shop(database);
    const crm = httpResolver({ name: "crm", erase: { url: `${url}/{value}` } });
    const [entryId] = await world.enqueue(erase("u-1", "crm"));
    await runnerOn(world, [crm]).runOnce();
    const row = await world.row(entryId as string);
    expect(row).toMatchObject({ status: "abandoned", last_error: "http-403", attempts: 1 });
  });

  it("[O-09][E-12] Retry-After is waited for where it is longer than the schedule, and not beyond a day", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    for (const [name, retryAfter, waitMs] of [
      ["brief", "1", 30_000],
      ["longer", "600", 600_000],
      ["endless", "99999999", DAY],
    ] as const) {
      const { url } = await server({ status: 429, headers: { "retry-after": retryAfter } });
      const crm = httpResolver({ name, erase: { url: `${url}/{value}` } });
      const [entryId] = await world.enqueue(erase("u-1", name));
      await runnerOn(world, [crm]).runOnce();
      const row = await world.row(entryId as string);
      expect(row).toMatchObject({ status: "failed", last_error: "http-429" });
      expect(Number(row["gate_ms"]) - clock.virtualNowMs()).toBe(waitMs);
    }
  });

  it("[O-07] a reply that was lost is no second erasure: the same key comes again, and the entry succeeds", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const crm = memoryResolver("crm");
    crm.put("cus_1");
    crm.troubleNext({ losesReply: true });
    const [entryId] = await world.enqueue(erase("u-1", "crm"));
    const runner = runnerOn(world, [crm]);
    await runner.runOnce();
    expect(await world.row(entryId as string)).toMatchObject({ status: "failed", last_error: "SystemDown" });
    await clock.advance(30_000);
    await runner.runOnce();
    expect(await world.row(entryId as string)).toMatchObject({ status: "succeeded" });
    const erasures = crm.callsUnder(entryId as string).filter(({ operation }) => operation === "erase");
    expect(erasures.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it("[O-11] a system that can only let things expire is asked again after its horizon", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const logs = expiringMemoryResolver("logs", { keeps: "30d", clock });
    logs.put("cus_1");
    const [entryId] = await world.enqueue(erase("u-1", "logs"));
    const runner = runnerOn(world, [logs]);
    await runner.runOnce();
    expect(await world.row(entryId as string)).toMatchObject({ status: "scheduled" });
    await clock.advance(30 * DAY);
    await runner.runOnce();
    expect(await world.row(entryId as string)).toMatchObject({ status: "succeeded" });
    expect(await world.trail("u-1")).toEqual([
      "ERASURE_EXPIRY_SCHEDULED",
      "ERASURE_STEP_SUCCEEDED",
      "ERASURE_COMPLETED",
    ]);
  });
});
