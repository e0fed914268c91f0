import { describe, expect, it } from "vitest";
import { virtualClock } from "amends/testing";
import { dedupeWebhooks, type SeenStore } from "amends/webhooks/receive";

describe("repetitions", () => {
  it("[W-16] the work of an id is done once", async () => {
    const seen = dedupeWebhooks();
    let done = 0;
    const work = (): void => void done++;
    expect([await seen.once("a", work), await seen.once("a", work), await seen.once("b", work)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(done).toBe(2);
  });

  it("[W-16] work that fails is done again with the next attempt", async () => {
    const seen = dedupeWebhooks();
    await expect(seen.once("a", () => Promise.reject(new Error("down")))).rejects.toThrow("down");
    await expect(
      seen.once("a", () => {
        throw new Error("at once");
      }),
    ).rejects.toThrow("at once");
    expect(await seen.once("a", () => undefined)).toBe(true);
  });

  it("[W-16] a repetition that comes while the first is at work shares its end, good or bad", async () => {
    const seen = dedupeWebhooks();
    let finish: (error?: Error) => void = () => undefined;
    const work = (): Promise<void> =>
      new Promise((resolve, reject) => (finish = (error) => (error ? reject(error) : resolve())));
    const failing = [seen.once("a", work), seen.once("a", work)];
    await new Promise((resolve) => setImmediate(resolve));
    finish(new Error("down"));
    const ends = await Promise.allSettled(failing);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    const passing = [seen.once("a", work), seen.once("a", work)];
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    expect(await Promise.all(passing)).toEqual([true, false]);
  });

  it("[W-16] ids are forgotten after their time, and the oldest when there are too many", async () => {
    const clock = virtualClock();
    const seen = dedupeWebhooks({ ttl: "1h", max: 2, clock });
    const isNew = (id: string) => seen.once(id, () => undefined);
    expect([await isNew("a"), await isNew("a")]).toEqual([true, false]);
    await clock.advance(3_600_000);
    expect([await isNew("a"), await isNew("b"), await isNew("c")]).toEqual([true, true, true]);
    expect([await isNew("b"), await isNew("c"), await isNew("a")]).toEqual([false, false, true]);
  });

  it("[W-16] a store of the user's own is asked and told, for work that succeeded only", async () => {
    const told: unknown[] = [];
    const ids = new Set<string>();
    const store: SeenStore = {
      has: (id) => Promise.resolve(ids.has(id)),
      add: async (id, ttlMs) => {
        told.push([id, ttlMs]);
        ids.add(id);
      },
    };
    const one = dedupeWebhooks({ store, ttl: "1d" });
    const other = dedupeWebhooks({ store });
    await expect(one.once("a", () => Promise.reject(new Error("down")))).rejects.toThrow("down");
    expect([await one.once("a", () => undefined), await other.once("a", () => undefined)]).toEqual([
      true,
      false,
    ]);
    expect(told).toEqual([["a", 86_400_000]]);
  });

  it("[W-16] refuses options that mean nothing", () => {
    for (const options of [{ ttl: 0 }, { max: 0 }, { tll: "1d" }]) {
      expect(() => dedupeWebhooks(options as never)).toThrow(
        expect.objectContaining({ name: "AmendsError" }) as Error,
      );
    }
  });
});
