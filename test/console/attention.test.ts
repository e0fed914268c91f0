/** The list of what needs a person: two things of one kind must not look alike. */
import { expect, it } from "vitest";
import { z } from "zod";
import { event } from "amends/events";
import type { Sender } from "amends/webhooks";
import type { AttentionLine, Overview, Page } from "../../src/console/contract.ts";
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
    await amends.webhooks.subscribe({ url, events: ["order.*"] });
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
      "dead-letter: event o-1-placed to https://partner.example/410: it answered HTTP 410 (gone for good), 1 try",
      "dead-letter: event o-1-placed to https://partner.example/500: it answered HTTP 500, 1 try",
      "disabled-subscription: it answered HTTP 410 (gone for good)",
    ]);
    expect(text).not.toContain(KEY);
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
