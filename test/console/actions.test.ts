import { expect, it } from "vitest";
import type { ActionLine, Page, Revealed, SagaDetail } from "../../src/console/contract.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";
import { openShop } from "./support/shop.ts";
import { visit } from "./support/visit.ts";

onEachDatabase((database) => {
  it("[P-02] every action asks for a reason, is carried out, and is on record with who did it", async () => {
    const shop = await openShop(database);
    for (const id of ["o-1", "o-2", "o-3"]) await shop.run("STALLED", id);
    await shop.amends.start(shop.order, { orderId: "o-4", end: "COMPLETED" }, { id: "o-4" });
    const { as, get, post } = visit(shop.amends);
    const audit = async (): Promise<readonly ActionLine[]> =>
      (await get<Page<ActionLine>>("reader", "/api/audit")).items;
    const actions = [
      ["o-1", "retry", {}, "COMPENSATING"],
      ["o-2", "skip", { step: "charge" }, "FAILED"],
      ["o-3", "resolve", { as: "COMPLETED" }, "COMPLETED"],
      ["o-4", "cancel", {}, "FAILED"],
    ] as const;
    for (const [id, action, more, status] of actions) {
      const missing = await as("operator", `/api/sagas/${id}/${action}`, { method: "POST", body: more });
      expect(missing.status).toBe(400);
      const body = { ...more, reason: `because ${action}` };
      const detail = await post<SagaDetail>("operator", `/api/sagas/${id}/${action}`, body);
      expect([action, detail.status]).toEqual([action, status]);
      expect(detail.timeline).toContainEqual(
        expect.objectContaining({ name: action, note: `because ${action}`, by: "Otto" }),
      );
      expect((await audit())[0]).toMatchObject({
        by: "Otto",
        action,
        target: { kind: "saga", id },
        reason: `because ${action}`,
        outcome: "done",
        code: null,
      });
    }
    expect(await audit()).toHaveLength(actions.length);
  });

  it("[S-36][P-02] a completed saga is taken back, on record, and both name the other one", async () => {
    const shop = await openShop(database);
    await shop.run("COMPLETED", "o-1");
    const { as, get, post } = visit(shop.amends);
    const before = await get<SagaDetail>("reader", "/api/sagas/o-1");
    expect([before.actions, before.family.reversedBy]).toEqual([["reverse"], null]);
    const missing = await as("operator", "/api/sagas/o-1/reverse", { method: "POST", body: {} });
    expect(missing.status).toBe(400);
    const reason = { reason: "sent back" };
    const detail = await post<SagaDetail>("operator", "/api/sagas/o-1/reverse", reason);
    expect(detail.family.reversedBy).toMatchObject({ id: "o-1:reversal", step: null });
    const reversal = await get<SagaDetail>("reader", "/api/sagas/o-1:reversal");
    expect(reversal.family).toMatchObject({ reverses: "o-1", reversedBy: null, children: [] });
    const { items } = await get<Page<ActionLine>>("reader", "/api/audit");
    expect(items[0]).toMatchObject({
      by: "Otto",
      action: "reverse",
      target: { kind: "saga", id: "o-1" },
      outcome: "done",
    });
    const listed = await shop.amends.list({ saga: shop.order });
    expect(listed.items.map(({ id, reverses, reversedBy }) => [id, reverses, reversedBy])).toEqual([
      ["o-1:reversal", "o-1", undefined],
      ["o-1", undefined, "o-1:reversal"],
    ]);
  });

  it("[P-02] an action that is refused is on record, too, and done twice it is there twice", async () => {
    const shop = await openShop(database);
    await shop.run("COMPLETED", "o-1");
    const { as, get } = visit(shop.amends);
    for (let n = 0; n < 2; n++) {
      const response = await as("operator", "/api/sagas/o-1/retry", {
        method: "POST",
        body: { reason: "again" },
      });
      expect([response.status, await response.json()]).toEqual([
        409,
        expect.objectContaining({ code: "NOT_ALLOWED_NOW" }),
      ]);
    }
    await as("operator", "/api/sagas/none/cancel", { method: "POST", body: { reason: "gone" } });
    const { items } = await get<Page<ActionLine>>("reader", "/api/audit");
    expect(items.map(({ outcome, code }) => `${outcome} ${code}`)).toEqual([
      "refused SAGA_NOT_FOUND",
      "refused NOT_ALLOWED_NOW",
      "refused NOT_ALLOWED_NOW",
    ]);
    const page = await get<Page<ActionLine>>("reader", "/api/audit?target=o-1&limit=1");
    const next = await get<Page<ActionLine>>("reader", `/api/audit?target=o-1&limit=1&after=${page.next}`);
    expect(page.items[0]?.id).not.toBe(next.items[0]?.id);
    expect(next.next).toBeNull();
    expect((await get<Page<ActionLine>>("reader", "/api/audit?by=Nobody")).items).toEqual([]);
  });

  it("[P-02] an action on a saga that has come further than what was looked at is refused", async () => {
    const shop = await openShop(database);
    await shop.run("STALLED", "o-1");
    const { as, get, post } = visit(shop.amends);
    const { revision } = await get<SagaDetail>("reader", "/api/sagas/o-1");
    const stale = { reason: "late", revision: revision - 1 };
    const refused = await as("operator", "/api/sagas/o-1/retry", { method: "POST", body: stale });
    expect([refused.status, await refused.json()]).toEqual([
      409,
      expect.objectContaining({ code: "SAGA_CONCURRENCY" }),
    ]);
    await post("operator", "/api/sagas/o-1/retry", { reason: "in time", revision });
  });

  it("[X-01] a value is revealed to whoever may, with a reason, and that is on record first", async () => {
    const shop = await openShop(database);
    await shop.run("COMPLETED", "o-1", "ada@example.com");
    const { as, get, post } = visit(shop.amends);
    const body = { kind: "saga", id: "o-1", reason: "the customer called" };
    expect((await as("operator", "/api/reveal", { method: "POST", body })).status).toBe(403);
    expect((await get<Page<ActionLine>>("reader", "/api/audit")).items).toEqual([]);
    const { fields } = await post<Revealed>("revealer", "/api/reveal", body);
    expect(fields).toMatchObject({
      input: { orderId: "o-1", customer: { email: "ada@example.com" } },
      results: { charge: { receipt: "ada@example.com" } },
    });
    const { items } = await get<Page<ActionLine>>("reader", "/api/audit?action=reveal");
    expect(items).toMatchObject([
      { by: "Reva", target: { kind: "saga", id: "o-1" }, reason: "the customer called", outcome: "done" },
    ]);
    expect(
      (await as("revealer", "/api/reveal", { method: "POST", body: { ...body, id: "none" } })).status,
    ).toBe(404);
  });

  it("[X-01] what cannot be put on record is not revealed and not done", async () => {
    const db = await database.open();
    const shop = await openShop(database, { database: db });
    await shop.run("STALLED", "o-1", "ada@example.com");
    const { as } = visit(shop.amends);
    await db.query(sql`drop table ${db.dialect.table("operator_actions")}`);
    const body = { kind: "saga", id: "o-1", reason: "curious" };
    const revealed = await as("revealer", "/api/reveal", { method: "POST", body });
    expect(revealed.status).toBeGreaterThanOrEqual(500);
    expect(await revealed.text()).not.toContain("ada@example.com");
    const retried = await as("operator", "/api/sagas/o-1/retry", { method: "POST", body: { reason: "r" } });
    expect(retried.status).toBeGreaterThanOrEqual(500);
    expect((await shop.amends.inspect("o-1"))?.status).toBe("STALLED");
  });

  it("[P-02] what people did can neither be changed nor removed", async () => {
    const db = await database.open();
    const shop = await openShop(database, { database: db });
    const { as } = visit(shop.amends);
    await as("operator", "/api/sagas/none/cancel", { method: "POST", body: { reason: "gone" } });
    const table = db.dialect.table("operator_actions");
    await expect(db.query(sql`update ${table} set reason = 'other'`)).rejects.toThrow("only ever added to");
    await expect(db.query(sql`delete from ${table}`)).rejects.toThrow("only ever added to");
  });
});
