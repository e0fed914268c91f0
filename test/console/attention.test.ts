/** The list of what needs a person: two things of one kind must not look alike. */
import { expect, it } from "vitest";
import { z } from "zod";
import { event } from "amends/events";
import type { Sender } from "amends/webhooks";
import type { ActionLine, AttentionLine, Overview, Page } from "../../src/console/contract.ts";
import type { Unsubscribed, DeliveryDetail, Subscription } from "../../src/console/contract-parts.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { visit } from "./support/visit.ts";

const KEY = "hidden-in-the-address";

/** Partners that answer as their address says. */
const partners: Sender = {
  send: async ({ url }) => {
    const status = Number(new URL(url).pathname.slice(1));
    const isGone = status === 410;
    const code = isGone ? "gone" : `http_${status}`;
    return { ok: false, code, status, durationMs: 1, ...(isGone && { gone: true }) };
  },
  checkUrl: () => undefined,
  close: async () => undefined,
};

async function scene(database: TestDatabase) {
  const db = await database.open();
  const amends = await database.amends({
    database: db,
    events: [],
    webhooks: { retry: { attempts: 1 }, sender: partners },
  });
  for (const status of [500, 410]) {
    const url = `https://partner.example/${status}?key=${KEY}`;
    const description = status === 410 ? { description: "old shop" } : {};
    await amends.webhooks.subscribe({ url, events: ["order.*"], ...description });
  }
  await db.transaction(async (_session, tx) =>
    amends.webhooks.publish({ type: "order.placed", id: "o-1-placed", data: {} }, { tx }),
  );
  const worker = amends.worker();
  while ((await worker.runOnce()) > 0);
  return { amends, ...visit(amends) };
}

onEachDatabase((database) => {
  it("[P-02][X-01] a dead letter says which event it is, where it was to go and what came back, and shows no secret", async () => {
    const { as } = await scene(database);
    const text = await (await as("reader", "/api/attention")).text();
    const { items } = JSON.parse(text) as Page<AttentionLine>;
    expect(items.map(({ kind, reason }) => `${kind}: ${reason}`).toSorted()).toEqual([
      "dead-letter: event o-1-placed to https://partner.example/410: it answered HTTP 410 (gone for good), 1 attempt",
      "dead-letter: event o-1-placed to https://partner.example/500: it answered HTTP 500, 1 attempt",
      "disabled-subscription: https://partner.example/410: it answered HTTP 410 (gone for good)",
    ]);
    expect(text).not.toContain(KEY);
  });

  it("[P-02] the first action of each item is the one that helps: nothing is sent to an endpoint that is gone", async () => {
    const { get } = await scene(database);
    const { items } = await get<Page<AttentionLine>>("reader", "/api/attention");
    const seen = items.map(
      ({ kind, name, actions, subscription }) => `${kind} ${name} (${subscription?.name}): ${actions.join()}`,
    );
    expect(seen.toSorted()).toEqual([
      "dead-letter order.placed (https://partner.example/500): resend,dismiss",
      "dead-letter order.placed (old shop): dismiss,resend",
      "disabled-subscription old shop (old shop): unsubscribe,enable",
    ]);
  });

  it("[P-02] unsubscribing an endpoint dismisses its dead letters, and those of others stay", async () => {
    const { get, post } = await scene(database);
    const { items } = await get<Page<AttentionLine>>("reader", "/api/attention");
    const gone = items.find(({ kind }) => kind === "disabled-subscription");
    const path = `/api/webhooks/subscriptions/${gone?.id}/unsubscribe`;
    const deleted = await post<Unsubscribed>("operator", path, { reason: "the shop has closed" });
    expect(deleted).toMatchObject({ status: "Deleted", dismissed: 1, actions: [] });
    const left = (await get<Page<AttentionLine>>("reader", "/api/attention")).items;
    expect(left.map(({ kind, subscription }) => [kind, subscription?.name])).toEqual([
      ["dead-letter", "https://partner.example/500"],
    ]);
    const letter = items.find(({ kind, subscription }) => kind === "dead-letter" && subscription?.gone);
    const detail = await get<DeliveryDetail>("reader", `/api/webhooks/deliveries/${letter?.id}`);
    expect(detail).toMatchObject({
      deadLetter: "Dismissed",
      actions: [],
      subscription: { status: "Deleted" },
    });
  });

  it("[P-02] a resend to a disabled subscription is refused with the reason, or enables it first; to a deleted one it is refused", async () => {
    const { get, post, as } = await scene(database);
    const { items } = await get<Page<AttentionLine>>("reader", "/api/attention");
    const letter = items.find(({ kind, subscription }) => kind === "dead-letter" && subscription?.gone);
    const path = `/api/webhooks/deliveries/${letter?.id}/resend`;
    const subscription = `/api/webhooks/subscriptions/${letter?.subscription?.id}`;
    const refusal = async (): Promise<unknown> => {
      const response = await as("operator", path, { method: "POST", body: { reason: "try" } });
      return [response.status, ((await response.json()) as { code: string; message: string }).code];
    };
    expect(await refusal()).toEqual([409, "SUBSCRIPTION_DISABLED"]);
    expect((await get<Subscription>("reader", subscription)).status).toBe("Disabled");
    const again = await post<DeliveryDetail>("operator", path, { reason: "it is back", enable: true });
    expect(again).toMatchObject({
      status: "Pending",
      requeuedFrom: letter?.id,
      subscription: { status: "Active" },
    });
    await post("operator", `${subscription}/unsubscribe`, { reason: "after all" });
    expect(await refusal()).toEqual([409, "SUBSCRIPTION_DELETED"]);
    const { items: done } = await get<Page<ActionLine>>("reader", "/api/audit");
    expect(done.toReversed().map(({ action, outcome }) => [action, outcome])).toEqual([
      ["resend", "refused"],
      ["enable", "done"],
      ["resend", "done"],
      ["unsubscribe", "done"],
      ["resend", "refused"],
    ]);
  });

  it("[P-04] an event that no process has a handler for is listed, but does not count as waiting work", async () => {
    const { amends, get } = await scene(database);
    const Unheard = event("Unheard", z.object({ n: z.number() }));
    await amends.events.publish(Unheard({ n: 1 }));
    expect((await get<Page<object>>("reader", "/api/outbox?status=pending&kind=event")).items).toHaveLength(
      1,
    );
    const { outbox } = await get<Overview>("reader", "/api/overview");
    expect(outbox?.pending).toEqual({ value: 0, exact: true });
  });
});
