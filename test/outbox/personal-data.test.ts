import { AuditTrail } from "amends/audit";
import { BackoffPolicy, ResolverError } from "amends/erasure";
import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { runnerOn } from "./support/runner.ts";
import { erase, rectify, shop, type Shop } from "./support/shop.ts";
import { eraser, rectifier } from "./support/systems.ts";

const EMAIL = "canary@example.org";

/** Everything that is on record: rows, events. */
async function everything(world: Shop): Promise<string> {
  const { events } = await new AuditTrail(world.db).list({ limit: 1_000 });
  return JSON.stringify([await world.rows(), events]);
}

onEachDatabase((database) => {
  it("[O-19] corrections are in the row while it is open, and nowhere once it has ended", async () => {
    const world = await shop(database);
    const crm = rectifier("crm", (_ref, _call, count) =>
      count < 3 ? Promise.reject(new Error(`no ${EMAIL}`)) : {},
    );
    const [id] = await world.enqueue(rectify("u-1", EMAIL, "crm"));
    const runner = runnerOn(world, [crm], { backoff: new BackoffPolicy({ baseDelay: 1, maxDelay: 1 }) });
    await runner.runOnce();
    expect((await world.row(id as string))["payload"]).toContain(EMAIL);
    await expect
      .poll(async () => (await runner.runOnce(), (await world.row(id as string))["status"]))
      .toBe("succeeded");
    expect(await everything(world)).not.toContain("canary");
  });

  it("[O-19] an abandoned rectification keeps nothing either", async () => {
    const world = await shop(database);
    await world.enqueue(rectify("u-1", EMAIL, "crm"));
    await runnerOn(world, [rectifier("crm", () => Promise.reject(new ResolverError("no", EMAIL)))]).runOnce();
    expect(await everything(world)).not.toContain("canary");
  });

  it("[O-19] a ref that is personal itself is scrubbed when its entry has succeeded; another stays", async () => {
    const world = await shop(database);
    const news = eraser("newsletter", () => ({}), { personalRef: true });
    const [personal, plain] = await world.enqueue(
      {
        ...erase("u-1", "newsletter", EMAIL),
        ref: { kind: "newsletter", value: EMAIL, extra: { also: EMAIL } },
      },
      erase("u-1", "stripe", "cus_9"),
    );
    await runnerOn(world, [news, eraser("stripe")]).runOnce();
    expect(news.calls[0]?.ref).toEqual({ kind: "newsletter", value: EMAIL, extra: { also: EMAIL } });
    expect(await world.row(personal as string)).toMatchObject({ ref_value: "scrubbed", ref_extra: null });
    expect(await world.row(plain as string)).toMatchObject({ ref_value: "cus_9" });
    expect(await everything(world)).not.toContain("canary");
  });

  it("[O-19] [O-16] an abandoned erasure keeps its ref, as a requeue needs it, until it has succeeded", async () => {
    const world = await shop(database);
    const down = eraser("newsletter", () => Promise.reject(new ResolverError("no")), { personalRef: true });
    const [id] = await world.enqueue(erase("u-1", "newsletter", EMAIL));
    await runnerOn(world, [down]).runOnce();
    await world.outbox.requeue([id as string]);
    const news = eraser("newsletter", () => ({}), { personalRef: true });
    await runnerOn(world, [news]).runOnce();
    expect(news.calls[0]?.ref.value).toBe(EMAIL);
    expect(await everything(world)).not.toContain("canary");
  });

  it("[O-19] [O-14] an abandoned rectification with a personal ref is still found by the one that takes its place", async () => {
    const world = await shop(database);
    const down = rectifier("newsletter", () => Promise.reject(new ResolverError("no")), {
      personalRef: true,
    });
    const [old] = await world.enqueue(rectify("u-1", "x", "newsletter", EMAIL));
    await runnerOn(world, [down]).runOnce();
    expect(await world.row(old as string)).toMatchObject({ ref_value: "scrubbed", payload: null });
    await world.enqueue(rectify("u-1", "y", "newsletter", EMAIL));
    expect((await world.row(old as string))["status"]).toBe("superseded");
    await runnerOn(world, [rectifier("newsletter", () => ({}), { personalRef: true })]).runOnce();
    expect((await world.trail("u-1")).at(-1)).toBe("RECTIFICATION_COMPLETED");
    expect(await everything(world)).not.toContain("canary");
  });
});
