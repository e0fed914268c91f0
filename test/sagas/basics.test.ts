import { err, ok, saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";

onEachDatabase((database) => {
  it("[S-01] steps run in their order, and what they return reaches the later ones", async () => {
    const order: string[] = [];
    const chain = saga("chain", z.object({ n: z.number() }))
      .step("one", { act: ({ input }) => (order.push("one"), ok({ twice: input.n * 2 })) })
      .step("two", { act: ({ results }) => (order.push("two"), results.one.twice + 1) });
    const amends = await database.amends({ sagas: [chain] });
    await database.worker(amends);
    const run = await amends.start(chain, { n: 20 });
    expect(await run.result()).toEqual({ status: "COMPLETED", id: run.id, results: { one: { twice: 40 }, two: 41 } });
    expect(order).toEqual(["one", "two"]);
  });

  it("[S-10] a failed step is followed by the undo of the done ones, in reverse", async () => {
    const undone: string[] = [];
    const chain = saga("chain", z.object({}))
      .step("one", { act: () => "1", compensate: ({ result }) => void undone.push(`one:${result}`) })
      .step("two", { act: () => "2", compensate: ({ result }) => void undone.push(`two:${result}`) })
      .step("three", { act: () => err("no") });
    const amends = await database.amends({ sagas: [chain] });
    await database.worker(amends);
    const outcome = await (await amends.start(chain, {})).result();
    expect(outcome).toMatchObject({ status: "FAILED", step: "three", error: { kind: "err", value: "no" } });
    expect(undone).toEqual(["two:2", "one:1"]);
  });
});
