import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { ActionLine, Page, Revealed } from "../../src/console/contract.ts";
import type { DeliveryDetail, DeliveryLine, Resent, Subscription } from "../../src/console/contract-parts.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { visit } from "./support/visit.ts";

const KEY = "hidden-in-the-address";

async function scene(database: TestDatabase) {
  const db = await database.open();
  const amends = await database.amends({ database: db, webhooks: {} });
  const { subscription } = await amends.webhooks
    .subscribe({ url: `https://partner.example/hook?key=${KEY}`, events: ["order.*"] })
    .then((made) => ({ subscription: made.id }));
  await db.transaction(async (_session, tx) =>
    amends.webhooks.publish({ type: "order.placed", data: { email: "ada@example.com" } }, { tx }),
  );
  // A console sees and steers whatever there is, also in a process that delivers nothing itself.
  return { amends, db, subscription, ...visit(await database.amends({})) };
}

onEachDatabase((database) => {
  it("[P-04] subscriptions and deliveries are listed and shown, without payloads, secrets and what an address may hide", async () => {
    const { subscription, get, as } = await scene(database);
    const subscriptions = await get<Page<Subscription>>("reader", "/api/webhooks/subscriptions");
    expect(subscriptions.items).toMatchObject([
      {
        id: subscription,
        url: "https://partner.example/hook",
        status: "Active",
        liveSecrets: 1,
        events: ["order.*"],
      },
    ]);
    const { items } = await get<Page<DeliveryLine>>("reader", "/api/webhooks/deliveries?status=Pending");
    expect(items).toMatchObject([
      { eventType: "order.placed", subscriptionId: subscription, attemptCount: 0 },
    ]);
    const id = items[0]?.id ?? "";
    const detail = await get<DeliveryDetail>("reader", `/api/webhooks/deliveries/${id}`);
    expect(detail).toMatchObject({ payload: { masked: true }, attempts: [], actions: [], deadLetter: null });
    for (const path of ["subscriptions", `subscriptions/${subscription}`, "deliveries", `deliveries/${id}`]) {
      const response = await (await as("reader", `/api/webhooks/${path}`)).text();
      for (const hidden of [KEY, "ada@example.com", "whsec_"]) expect(response).not.toContain(hidden);
    }
    for (const path of ["subscriptions/99", "subscriptions/x", "deliveries/99", "deliveries/0"]) {
      expect([path, (await as("reader", `/api/webhooks/${path}`)).status]).toEqual([path, 404]);
    }
  });

  it("[P-04] both lists come newest first, by some states or what is shown of an address, and page without a gap", async () => {
    const { amends, db, subscription, get } = await scene(database);
    const made = [subscription];
    for (const host of ["one", "two", "three"]) {
      const settings = { url: `https://${host}.example/hook?key=${KEY}`, events: ["order.*"] };
      made.unshift((await amends.webhooks.subscribe(settings)).id);
    }
    await db.transaction(async (_session, tx) =>
      amends.webhooks.publish({ type: "order.shipped", data: {} }, { tx }),
    );
    const all = async (path: string): Promise<readonly string[]> => {
      const ids: string[] = [];
      for (let after: string | null = ""; after !== null;) {
        const page: Page<{ id: string }> = await get("reader", `/api/webhooks/${path}limit=2&after=${after}`);
        ids.push(...page.items.map(({ id }) => id));
        after = page.next;
      }
      return ids;
    };
    expect(await all("subscriptions?")).toEqual(made);
    expect(await all("subscriptions?status=Active&")).toEqual(made);
    expect(await all("subscriptions?status=Paused&")).toEqual([]);
    expect(await all("subscriptions?q=EXAMPLE/hook&")).toEqual(made);
    expect(await all("subscriptions?q=two.example&")).toEqual([made[1]]);
    expect(await all(`subscriptions?q=${KEY}&`)).toEqual([]);
    const deliveries = await all("deliveries?");
    expect(deliveries).toHaveLength(5);
    expect(deliveries).toEqual(deliveries.toSorted((a, b) => Number(b) - Number(a)));
    expect(await all("deliveries?status=Completed,Pending&")).toEqual(deliveries);
    expect(await all("deliveries?status=Completed,DeadLettered&")).toEqual([]);
    expect(await all(`deliveries?subscription=${subscription}&status=Pending&`)).toHaveLength(2);
    const [newest] = (await get<Page<DeliveryLine>>("reader", "/api/webhooks/deliveries")).items;
    expect(newest).toMatchObject({ eventType: "order.shipped", url: "https://three.example/hook" });
    expect(await all(`deliveries?event=${newest?.eventId}&`)).toHaveLength(4);
  });

  it("[X-01] what an endpoint answered is masked, and revealed to whoever may, on record", async () => {
    const { db, get, post } = await scene(database);
    const [line] = (await get<Page<DeliveryLine>>("reader", "/api/webhooks/deliveries")).items;
    const { dialect } = db;
    const isOk = raw(dialect.name === "postgres" ? "false" : "0");
    await db.query(sql`insert into ${dialect.table("webhook_attempts")}
        (report, job_id, saga_id, token, verdict, ok, code, status, duration_ms, response_body, created_at)
      values (${randomUUID()}, 1, ${line?.id}, 1, 'accepted', ${isOk}, 'http_503', 503, 7, 'ada@example.com is not known', ${dialect.now()})`);
    const detail = await get<DeliveryDetail>("reader", `/api/webhooks/deliveries/${line?.id}`);
    expect(detail.attempts).toMatchObject([{ httpStatus: 503, response: { masked: true, shape: "text" } }]);
    const body = { kind: "attempt", id: detail.attempts[0]?.id, reason: "what did they say?" };
    const { fields } = await post<Revealed>("revealer", "/api/reveal", body);
    expect(fields).toEqual({ response: "ada@example.com is not known" });
    expect((await get<Page<ActionLine>>("reader", "/api/audit")).items).toMatchObject([
      { action: "reveal", target: { kind: "attempt" } },
    ]);
  });

  it("[X-01] a delivery's payload is revealed to whoever may, on record", async () => {
    const { get, post } = await scene(database);
    const { items } = await get<Page<DeliveryLine>>("reader", "/api/webhooks/deliveries");
    const body = { kind: "delivery", id: items[0]?.id, reason: "the partner asked" };
    const { fields } = await post<Revealed>("revealer", "/api/reveal", body);
    expect(JSON.stringify(fields)).toContain("ada@example.com");
    expect((await get<Page<ActionLine>>("reader", "/api/audit")).items).toMatchObject([{ action: "reveal" }]);
  });

  it("[P-02] a subscription is paused, enabled, sent to again and deleted, each with a reason, on record", async () => {
    const { subscription, post, get, as } = await scene(database);
    const path = `/api/webhooks/subscriptions/${subscription}`;
    expect((await post<Subscription>("operator", `${path}/pause`, { reason: "r1" })).status).toBe("Paused");
    expect((await post<Subscription>("operator", `${path}/enable`, { reason: "r2" })).status).toBe("Active");
    const since = "2020-01-01T00:00:00Z";
    const resent = await post<Resent>("operator", `${path}/resend`, { reason: "r3", since });
    expect(typeof resent.deliveries).toBe("number");
    expect((await post<Subscription>("operator", `${path}/unsubscribe`, { reason: "r4" })).status).toBe(
      "Deleted",
    );
    const { items } = await get<Page<ActionLine>>("reader", "/api/audit");
    expect(items.map(({ action, reason, outcome }) => `${action} ${reason} ${outcome}`)).toEqual([
      "unsubscribe r4 done",
      "resend r3 done",
      "enable r2 done",
      "pause r1 done",
    ]);
    const [open] = (await get<Page<DeliveryLine>>("reader", "/api/webhooks/deliveries")).items;
    const sent = { method: "POST", body: { reason: "early" } };
    expect((await as("operator", `/api/webhooks/deliveries/${open?.id}/dismiss`, sent)).status).toBe(409);
  });
});
