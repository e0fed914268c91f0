import { err, saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";

const nothing = z.object({});
const soon = { retry: { attempts: 3, base: "1ms" } } as const;

onEachDatabase((database) => {
  it("[S-11] a step that was in doubt before it answered with an err is undone, by the act's key alone", async () => {
    const undone: unknown[] = [];
    const order = saga("order", nothing, soon).step("charge", {
      act: ({ attempt }) => {
        if (attempt === 1) throw new Error("the answer was lost");
        return err("declined");
      },
      compensate: ({ result, actKey }) => void undone.push([result, actKey]),
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {}, { id: "o-1" });
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { value: "declined" } });
    expect(undone).toEqual([[undefined, "o-1:charge:act"]]);
  });

  it("[S-14][S-22] a pivot that was in doubt before it answered with an err stalls: it may have happened", async () => {
    const order = saga("order", nothing, soon)
      .step("reserve", { act: () => 1, compensate: () => undefined })
      .pivot("ship", {
        act: ({ attempt }) => {
          if (attempt === 1) throw new Error("the answer was lost");
          return err("sold out");
        },
      });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const outcome = await (await amends.start(order, {})).result();
    expect(outcome).toMatchObject({
      status: "STALLED",
      step: "ship",
      reason: expect.stringMatching(
        /^it is unknown whether the pivot ship happened \(.+; a try threw or was interrupted\), so nothing was undone$/,
      ) as string,
      error: { value: "sold out" },
    });
  });

  it("[S-11] a step whose only try answered with an err is not undone", async () => {
    const undone: string[] = [];
    const order = saga("order", nothing).step("charge", {
      act: () => err("declined"),
      compensate: () => void undone.push("charge"),
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "FAILED" });
    expect(undone).toEqual([]);
  });
});
