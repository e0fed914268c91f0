/** Deliveries and subscriptions are both counted from 1: a number alone must never reach the wrong one. */
import { expect, it } from "vitest";
import type { Amends } from "amends";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { failed, stage } from "../webhooks/support/stage.ts";
import { cli, json } from "./support/cli.ts";

const WHY = ["--reason", "the partner asked", "--by", "ann"];

interface Numbers {
  readonly amends: Amends;
  readonly at: readonly string[];
  /** How many requests each partner has got. */
  readonly calls: () => Readonly<Record<string, number>>;
  readonly work: () => Promise<number>;
}

/** Deliveries 1 and 2 have arrived, 3 and 4 are dead. Subscription 2 is disabled because it kept failing, 3 because it is gone. */
async function sameNumbers(database: TestDatabase): Promise<Numbers> {
  const limits = { retry: { attempts: 12, base: "5m", cap: "5m" }, disableAfter: "30m" } as const;
  const { amends, world, subscribe, publish, work, later } = await stage(database, limits);
  world.answer = ({ url }) =>
    url.includes("good")
      ? {}
      : url.includes("away")
        ? failed()
        : { ok: false, code: "gone", status: 410, gone: true };
  const names = ["good", "away", "gone"] as const;
  const ids: string[] = [];
  for (const name of names) ids.push(await subscribe(name, { events: [`${name}.*`] }));
  expect(ids).toEqual(["1", "2", "3"]);
  for (const type of ["good.one", "good.two", "away.one", "gone.one"]) {
    await publish(type);
    await work();
  }
  for (let turn = 1; turn <= 12; turn++) await later(300_000);
  const at = ["--database", await database.place()];
  const { items } = await json<{ items: { id: string; status: string }[] }>(["list", "deliveries", ...at]);
  expect(items.map(({ id, status }) => `${id} ${status}`).toSorted()).toEqual([
    "1 Completed",
    "2 Completed",
    "3 DeadLettered",
    "4 DeadLettered",
  ]);
  return { amends, at, calls: () => world.calls, work };
}

onEachDatabase((database) => {
  it("[P-03][P-02] a command reaches what it is for, of two with the same number; what stays ambiguous is refused", async () => {
    const { at, amends } = await sameNumbers(database);
    const listed = await cli(["list", "attention", ...at]);
    // The action that helps comes first: an endpoint that is gone does not come back.
    expect(listed.out).toMatch(
      /disabled-subscription .* 2 .* enable, unsubscribe .* no delivery has succeeded/,
    );
    expect(listed.out).toMatch(/disabled-subscription .* 3 .* unsubscribe, enable .*gone for good/);
    expect(listed.out).toMatch(/dead-letter .* away\.one .* resend, dismiss /);
    expect(listed.out).toMatch(/dead-letter .* gone\.one .* dismiss, resend /);
    // No command is for both: what the id means follows from what is asked for.
    const requeued = await cli(["requeue", "2", ...WHY, ...at]);
    expect([requeued.code, requeued.out]).toEqual([1, ""]);
    expect(requeued.err).toMatch(
      /^error: This is a subscription \(Disabled\): amends requeue is for entry\.\n +What helps: amends enable 2, or amends unsubscribe 2\n$/,
    );
    const both = await cli(["show", "3", ...at]);
    expect([both.code, both.out]).toEqual([2, ""]);
    expect(both.err).toContain(
      'There is a delivery (DeadLettered) and a subscription (Disabled) with the id "3": say which one, --kind delivery or --kind subscription.',
    );
    expect((await cli(["show", "2", ...at])).out).toMatch(
      /^Disabled {2}.*\n[\s\S]*amends enable 2 --reason "…"\n {2}amends unsubscribe 2 --reason "…"\n$/,
    );
    const settled = await cli(["dismiss", "3", ...WHY, ...at]);
    expect([settled.code, settled.out]).toEqual([0, "Dismissed: delivery 3 is not sent again\n"]);
    const enabled = await cli(["enable", "3", ...WHY, ...at]);
    expect([enabled.code, enabled.out]).toEqual([0, "Enabled: subscription 3 is Active\n"]);
    const ended = await cli(["unsubscribe", "1", ...WHY, ...at]);
    expect([ended.code, ended.out]).toEqual([0, "Unsubscribed: subscription 1 is Deleted\n"]);
    expect((await amends.webhooks.subscription("3")).status).toBe("Active");
    expect((await amends.webhooks.subscription("2")).status).toBe("Disabled");
  });

  it("[P-03][W-12] a delivery that has arrived is sent again only where that is asked for", async () => {
    const { at, calls, work } = await sameNumbers(database);
    const before = calls();
    const refused = await cli(["resend", "1", ...WHY, ...at]);
    expect([refused.code, refused.err]).toEqual([
      1,
      "error: Delivery 1 has arrived: the receiver would get it twice.\n       To send it again: amends resend 1 --again\n",
    ]);
    await work();
    expect(calls()).toEqual(before);
    expect((await cli(["show", "1", ...at])).out).toContain('amends resend 1 --again --reason "…"');
    const again = await cli(["resend", "1", "--again", ...WHY, ...at]);
    expect([again.code, again.out]).toEqual([0, expect.stringMatching(/as the new delivery \d+/)]);
    await work();
    expect(Object.values(calls()).reduce((sum, count) => sum + count)).toBe(
      Object.values(before).reduce((sum, count) => sum + count) + 1,
    );
  });
});
