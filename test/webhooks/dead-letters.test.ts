import { expect, it } from "vitest";
import { routeEvent } from "../../src/webhooks/publish/queries.ts";
import { type TestDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { failed, NOTE, onEachForm, stage, type Stage } from "./support/stage.ts";

async function given(database: TestDatabase): Promise<Stage & { subscription: string; dead: string }> {
  const on = await stage(database, { retry: { attempts: 1 } });
  on.world.answer = () => failed();
  const subscription = await on.subscribe("a");
  await on.publish("order.placed", { id: "e-1" });
  await on.work();
  const [letter] = await on.amends.webhooks.deadLetters();
  return { ...on, subscription, dead: letter?.deliveryId as string };
}

onEachForm((database) => {
  checkInvariantsAfterEach(database);

  it("[W-12] a resend of a dead letter makes a brand-new delivery and leaves the dead one as it is", async () => {
    const { amends, rows, dead, work, world, clock } = await given(database);
    const [before] = await rows("webhook_delivery_sagas");
    clock.jump(5_000);
    const made = await amends.webhooks.resend([dead], { reason: "fixed", by: "ann" });
    const [still, fresh] = await rows("webhook_delivery_sagas");
    expect(still).toEqual(before);
    expect(fresh).toMatchObject({
      status: "Pending",
      attempt_count: 0,
      generation: 1,
      final_error_code: null,
    });
    expect(String(fresh?.["requeued_from"])).toBe(String(before?.["id"]));
    expect(String(fresh?.["id"])).toBe(made.get(dead));
    expect(Number(new Date(fresh?.["next_attempt_at"] as never))).toBe(clock.virtualNowMs());
    world.answer = () => ({});
    expect(await work()).toBe(1);
    // The same message, as far as the receiver can tell.
    expect(new Set(world.sent.map(({ id }) => id))).toEqual(new Set(["e-1"]));
    expect((await rows("webhook_delivery_sagas"))[0]).toEqual(before);
    expect(await amends.webhooks.deadLetters()).toEqual([]);
    expect(await rows("dead_letters")).toMatchObject([
      { status: "Requeued", reason: "fixed", settled_by: "ann" },
    ]);
  });

  it("[W-12] resending a dead letter twice, or at the same time, makes one new delivery", async () => {
    const { amends, dead, rows } = await given(database);
    const answers = await Promise.all(Array.from({ length: 4 }, () => amends.webhooks.resend(dead, NOTE)));
    answers.push(await amends.webhooks.resend(dead, NOTE));
    expect(new Set(answers).size).toBe(1);
    expect(await amends.webhooks.resend([dead], NOTE)).toEqual(new Map([[dead, answers[0]]]));
    expect(await rows("webhook_delivery_sagas")).toHaveLength(2);
  });

  it("[W-12] a delivery that was resent and died again can be resent again", async () => {
    const { amends, dead, work, states } = await given(database);
    await amends.webhooks.resend(dead, NOTE);
    await work();
    const [second] = await amends.webhooks.deadLetters();
    await amends.webhooks.resend(second?.deliveryId as string, NOTE);
    expect(await states()).toEqual(["DeadLettered 1", "DeadLettered 1", "Pending 0"]);
    const generations = (await amends.webhooks.deliveries()).map(({ generation }) => generation);
    expect(generations).toEqual([2, 1, 0]);
  });

  it("[W-02] routing the event again makes no second delivery, also after it was dead-lettered", async () => {
    const { db, publish, rows } = await given(database);
    await publish("order.placed", { id: "e-1" });
    expect(await rows("webhook_delivery_sagas")).toHaveLength(1);
    const [event] = await rows("webhook_events");
    await db.query(routeEvent(db.dialect, String(event?.["id"]), ["order.placed", "*"], []));
    expect(await rows("webhook_delivery_sagas")).toHaveLength(1);
  });

  it("[P-02] a resend and a dismissal ask for a reason; a letter that was settled stays settled", async () => {
    const { amends, dead, rows } = await given(database);
    await expect(amends.webhooks.resend(dead, { reason: " " })).rejects.toMatchObject({
      code: "BAD_OPTION",
    });
    await expect(amends.webhooks.resend("77", NOTE)).rejects.toMatchObject({ code: "WEBHOOK_NOT_FOUND" });
    await expect(amends.webhooks.resend("x", NOTE)).rejects.toMatchObject({ code: "BAD_ID" });
    await expect(amends.webhooks.dismiss("77", NOTE)).rejects.toMatchObject({ code: "WEBHOOK_NOT_FOUND" });
    await amends.webhooks.dismiss(dead, NOTE);
    await amends.webhooks.dismiss(dead, NOTE);
    await expect(amends.webhooks.resend(dead, NOTE)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    expect(await amends.webhooks.deadLetters()).toEqual([]);
    expect(await rows("webhook_delivery_sagas")).toHaveLength(1);
  });
});
