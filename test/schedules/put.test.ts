/** What `put` accepts, refuses, keeps and replaces. */
import { Amends, AmendsError, saga, sagaRef } from "amends";
import { MemorySagaStorage } from "amends/storage";
import { expect, it } from "vitest";
import { z } from "zod";
import { event } from "amends/events";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { caller } from "../support/caller.ts";
import { HOUR, invoiceInput, invoicing, MINUTE, NIGHT, NOTE, scene, type Scene } from "./support/scene.ts";

/** Wrong definitions, as a program without types would pass them. */
const WRONG: readonly (readonly [what: string, change: object, code: string, why: RegExp])[] = [
  [
    "a cron text with a wrong field",
    { cron: "61 * * * *" },
    "BAD_DEFINITION",
    /Schedule s: `cron` "61 \* \* \* \*" cannot be read: .*minute: 61/,
  ],
  [
    "a cron text with seconds",
    { cron: "0 0 3 * * *" },
    "BAD_DEFINITION",
    /has 6\. Seconds and years are not supported/,
  ],
  [
    "a cron text that never ticks",
    { cron: "0 0 30 2 *" },
    "BAD_DEFINITION",
    /never ticks, because there is no such day/,
  ],
  ["no cron text", { cron: undefined }, "BAD_DEFINITION", /`cron` must be a text such as/],
  ["an unknown time zone", { timezone: "Mars/Olympus" }, "BAD_DEFINITION", /"Mars\/Olympus" is none/],
  ["an offset as a time zone", { timezone: "+02:00" }, "BAD_DEFINITION", /must be the name of a time zone/],
  ["an unknown option", { every: "1h" }, "BAD_OPTION", /no option named every/],
  ["an unknown overlap", { overlap: "queue" }, "BAD_DEFINITION", /`overlap` must be one of skip, allow/],
  ["an unknown missed", { missed: "some" }, "BAD_DEFINITION", /`missed` must be one of one, skip, all/],
  ["all missed ticks without overlap", { missed: "all" }, "BAD_DEFINITION", /Add `overlap: "allow"`/],
  ["a jitter that is no duration", { jitter: "soon" }, "BAD_DURATION", /Schedule s: jitter must be/],
  ["a jitter of more than a day", { jitter: "2d" }, "BAD_DURATION", /at most 1d/],
  [
    "an input that does not fit",
    { input: { month: 7 } },
    "BAD_INPUT",
    /input of saga invoice does not fit its schema: month/,
  ],
  ["no saga", { saga: undefined }, "BAD_DEFINITION", /`saga` must be a saga, or a reference to one/],
  [
    "a saga that is not registered",
    { saga: saga("other", z.object({})).step("a", { act: () => 1 }) },
    "UNKNOWN_SAGA",
    /Saga other \(version 1\) is not registered/,
  ],
];

function hourly({ invoice }: Pick<Scene, "invoice">): {
  readonly cron: string;
  readonly saga: Scene["invoice"];
  readonly input: object;
} {
  return { cron: "0 * * * *", saga: invoice, input: {} };
}

onEachDatabase((database) => {
  it.each(WRONG)("[S-41] refuses %s, and writes nothing", async (_, change, code, why) => {
    const { amends, invoice } = await scene(database);
    const definition = { cron: "0 3 * * *", saga: invoice, input: {}, ...change } as never;
    const refused = amends.schedules.put("s", definition);
    await expect(refused).rejects.toThrow(why);
    await expect(refused).rejects.toMatchObject({ code });
    expect((await amends.schedules.list()).items).toEqual([]);
  });

  it("[S-41] refuses a name that does not fit, an unknown option and a transaction that is undefined", async () => {
    const one = await scene(database);
    const { schedules } = one.amends;
    for (const name of ["", "a b", "1st", "x".repeat(129), 7])
      await expect(schedules.put(name as string, hourly(one))).rejects.toThrow(/A schedule's name must be/);
    await expect(schedules.put("s", hourly(one), { at: 1 } as never)).rejects.toThrow(/no option named at/);
    await expect(schedules.put("s", hourly(one), { tx: undefined })).rejects.toMatchObject({
      code: "NEEDS_TRANSACTION",
    });
    expect((await schedules.list()).items).toEqual([]);
  });

  it("[S-41] refuses an input for which an event wait has no value, before anything is written", async () => {
    const paid = event("Paid", z.object({ orderId: z.string() }));
    const order = saga("order", z.object({ orderId: z.string().optional() })).waitFor("paid", {
      event: paid,
      where: "orderId",
      equals: ({ input }) => input.orderId as string,
    });
    const { amends } = await scene(database, undefined, { sagas: [order], events: [] });
    await expect(
      amends.schedules.put("s", { cron: "0 3 * * *", saga: order, input: {} }),
    ).rejects.toMatchObject({ code: "BAD_INPUT" });
    expect((await amends.schedules.list()).items).toEqual([]);
  });

  it("[S-41] the same definition again changes nothing and keeps the next tick", async () => {
    const one = await scene(database);
    const { amends, clock } = one;
    const definition = { ...hourly(one), timezone: "UTC", input: { month: "May" }, jitter: "10m" } as const;
    await amends.schedules.put("s", definition);
    const before = await amends.schedules.get("s");
    clock.jump(3 * HOUR);
    const again = {
      ...definition,
      cron: " 0  * * * * ",
      overlap: "skip",
      missed: "one",
      jitter: 600_000,
    } as const;
    expect(await amends.schedules.put("s", again)).toEqual({
      change: "none",
      nextAt: new Date(NIGHT + HOUR),
    });
    expect(await amends.schedules.get("s")).toEqual(before);
  });

  it("[S-41] another definition replaces it from now on, and the record of its ticks stays", async () => {
    const one = await scene(database);
    const { amends, pass, clock, started } = one;
    await amends.schedules.put("s", hourly(one));
    await pass(HOUR);
    clock.jump(90 * MINUTE);
    const changed = { ...hourly(one), cron: "15 * * * *", input: { month: "June" } };
    expect(await amends.schedules.put("s", changed)).toEqual({
      change: "replaced",
      nextAt: new Date(NIGHT + 3 * HOUR + 15 * MINUTE),
    });
    await pass(45 * MINUTE);
    // The tick that was due under the old definition has not come.
    expect(started).toEqual(["s@2026-11-18T01:00:00Z", "s@2026-11-18T03:15:00Z"]);
    expect(await amends.inspect("s@2026-11-18T03:15:00Z")).toMatchObject({ input: { month: "June" } });
    expect((await amends.schedules.get("s"))?.lastTicks).toHaveLength(2);
  });

  it("[S-41] puts of several processes at once make one schedule", async () => {
    const one = await scene(database);
    const others = await Promise.all(
      [1, 2, 3].map(() => database.amends({ sagas: [invoicing([])], clock: one.clock })),
    );
    const puts = await Promise.all(
      [one.amends, ...others].map((amends) =>
        amends.schedules.put("s", { ...hourly(one), saga: invoicing([]) }),
      ),
    );
    expect(puts.map(({ change }) => change).toSorted()).toEqual(["created", "none", "none", "none"]);
  });

  it("[S-41] a reference is enough: a worker that has the saga runs the ticks", async () => {
    const { amends, clock, started } = await scene(database);
    const web = await database.amends({ clock });
    const reference = sagaRef("invoice", invoiceInput);
    await web.schedules.put("s", { cron: "0 * * * *", saga: reference, input: {} });
    clock.jump(HOUR);
    expect(await web.worker().runOnce({ budget: "1m" })).toMatchObject({ items: 0 });
    await amends.worker().runOnce({ budget: "1m" });
    expect(started).toEqual(["s@2026-11-18T01:00:00Z"]);
  });

  it("[S-41] in the caller's transaction it is put and removed exactly if that commits", async () => {
    const one = await scene(database);
    const { schedules } = one.amends;
    const own = await caller(database);
    const within = async (end: "commit" | "rollback", work: () => Promise<unknown>): Promise<void> => {
      await own.exec("begin");
      await work();
      await own.exec(end);
    };
    const { tx } = own;
    await within("rollback", () => schedules.put("s", hourly(one), { tx }));
    expect(await schedules.get("s")).toBeUndefined();
    await within("commit", async () => {
      expect(await schedules.put("s", hourly(one), { tx })).toMatchObject({ change: "created" });
      expect(await schedules.put("s", hourly(one), { tx })).toMatchObject({ change: "none" });
    });
    expect(await schedules.get("s")).toBeDefined();
    await within("rollback", () => schedules.remove("s", { ...NOTE, tx }));
    expect(await schedules.get("s")).toBeDefined();
    await within("commit", () => schedules.remove("s", { ...NOTE, tx }));
    expect(await schedules.get("s")).toBeUndefined();
    await own.close();
  });
});

onDatabase("sqlite", (database) => {
  it("[S-41] a synchronous transaction puts and removes schedules, too", async () => {
    const one = await scene(database);
    const { sync, schedules } = one.amends;
    const own = await caller(database);
    await own.exec("begin");
    expect(sync.schedules.put("s", hourly(one), { tx: own.tx })).toMatchObject({ change: "created" });
    await own.exec("rollback");
    expect(await schedules.get("s")).toBeUndefined();
    await own.exec("begin");
    sync.schedules.put("s", hourly(one), { tx: own.tx });
    await own.exec("commit");
    expect(await schedules.get("s")).toBeDefined();
    await own.exec("begin");
    expect(sync.schedules.remove("s", { ...NOTE, tx: own.tx })).toBe(true);
    await own.exec("commit");
    expect(await schedules.get("s")).toBeUndefined();
    await own.close();
  });
});

it("[S-41] a custom storage has no schedules, and says so", () => {
  const amends = new Amends({ storage: new MemorySagaStorage(), sagas: [invoicing([])] });
  expect(() => amends.schedules).toThrow(
    new AmendsError("NOT_SUPPORTED", "A custom `storage` has no schedules. Pass `database` instead."),
  );
});
