import { Amends, saga, sagaRef } from "amends";
import type { ListedSchedule, PutResult, Schedule, ScheduleTick } from "amends/schedules";
import { sqlite } from "amends/sqlite";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

const schema = z.object({ month: z.string(), copies: z.number().default(1) });
const invoice = saga("invoice", schema).step("send", { act: () => 1 });
const amends = new Amends({ database: sqlite(":memory:"), sagas: [invoice] });
const daily = { cron: "0 3 * * *", saga: invoice, input: { month: "May" } } as const;

describe("schedules", () => {
  it("[S-41] the input is that of the saga, before its schema", () => {
    expectTypeOf(amends.schedules.put("s", daily)).resolves.toEqualTypeOf<PutResult>();
    void amends.schedules.put("s", { ...daily, saga: sagaRef("invoice", schema) });
    // @ts-expect-error the month is missing
    void amends.schedules.put("s", { ...daily, input: {} });
    // @ts-expect-error the month is a text
    void amends.schedules.put("s", { ...daily, input: { month: 5 } });
    // @ts-expect-error there is no input
    void amends.schedules.put("s", { cron: "0 3 * * *", saga: invoice });
  });

  it("[S-41] what cannot be meant does not compile", () => {
    void amends.schedules.put("s", {
      cron: "0 3 * * *",
      saga: invoice,
      input: { month: "May" },
      // @ts-expect-error an option that does not exist
      every: "1h",
    });
    // @ts-expect-error no such policy
    void amends.schedules.put("s", { ...daily, overlap: "queue" });
    // @ts-expect-error no such policy
    void amends.schedules.put("s", { ...daily, missed: "some" });
    // @ts-expect-error all missed ticks need overlap: "allow"
    void amends.schedules.put("s", { ...daily, missed: "all" });
    // @ts-expect-error no duration
    void amends.schedules.put("s", { ...daily, jitter: "soon" });
    const all = { ...daily, missed: "all", overlap: "allow", jitter: "5m" } as const;
    expectTypeOf(amends.schedules.put("s", all)).resolves.toEqualTypeOf<PutResult>();
    // @ts-expect-error an action needs a reason
    void amends.schedules.pause("s", {});
    // @ts-expect-error an action needs a reason
    void amends.schedules.run("s");
  });

  it("[S-41] what is read says what it may be", () => {
    expectTypeOf(amends.schedules.get("s")).resolves.toEqualTypeOf<Schedule | undefined>();
    expectTypeOf<Schedule["lastTicks"][number]>().toEqualTypeOf<ScheduleTick>();
    expectTypeOf<ListedSchedule["status"]>().toEqualTypeOf<"active" | "paused">();
    expectTypeOf<ScheduleTick["outcome"]>().toEqualTypeOf<"started" | "skipped" | "missed">();
    expectTypeOf(amends.schedules.run("s", { reason: "r" })).resolves.toEqualTypeOf<{
      readonly sagaId: string;
    }>();
  });
});
