/** What a person can do to a saga that waits behind its pivot, or of whose pivot nobody knows whether it happened. */
import { AmendsError, saga, signal, Terminal } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";

const nothing = z.object({});
const delivered = signal("delivered", z.object({ at: z.string() }));
const code = (error: unknown): unknown => (error instanceof AmendsError ? error.code : error);
const note = { reason: "the carrier says so", by: "ann" };

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-38] a wait without a limit behind the pivot can be ended by a person, with a result for later steps", async () => {
    const order = saga("order", nothing)
      .pivot("pay", { act: () => 1 })
      .waitFor("arrival", { signal: delivered })
      .step("thank", { act: ({ results }) => results.arrival.at });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {}, { id: "o" });
    await expect.poll(async () => (await amends.inspect("o"))?.waiting?.step).toBe("arrival");
    expect(await amends.inspect("o")).toMatchObject({ actions: ["skip", "resolve"], skippable: ["arrival"] });
    await amends.skip("o", "arrival", { ...note, result: { at: "noon" } });
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { thank: "noon" } });
  });

  it("[S-38] rounds behind the pivot can be ended, and a saga that waits there resolved", async () => {
    const poll = saga("poll", nothing)
      .pivot("pay", { act: () => 1 })
      .repeat("look", { act: () => 1, until: { signal: delivered }, every: "1d", max: 9 });
    const amends = await database.amends({ sagas: [poll] });
    await database.worker(amends);
    for (const id of ["skip", "resolve"]) {
      await amends.start(poll, {}, { id });
      await expect.poll(async () => (await amends.inspect(id))?.skippable).toEqual(["look"]);
    }
    await amends.skip("skip", "look", note);
    await amends.resolve("resolve", "COMPLETED", note);
    for (const id of ["skip", "resolve"])
      await expect.poll(async () => (await amends.inspect(id))?.status).toBe("COMPLETED");
  });

  it("[S-38] a wait before the pivot is not skipped: the saga can be cancelled", async () => {
    const order = saga("order", nothing).waitFor("arrival", { signal: delivered });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    await amends.start(order, {}, { id: "o" });
    await expect.poll(async () => (await amends.inspect("o"))?.waiting?.step).toBe("arrival");
    expect((await amends.inspect("o"))?.actions).toEqual(["cancel"]);
    expect(await amends.skip("o", "arrival", note).catch(code)).toBe("NOT_ALLOWED_NOW");
  });

  it("[S-38][S-22] a saga that is stalled at its pivot turns back once a person has made sure that the pivot did not happen", async () => {
    const log: string[] = [];
    const order = saga("order", nothing)
      .step("reserve", { act: () => 1, compensate: () => void log.push("release") })
      .pivot("pay", {
        act: () => {
          throw new Terminal("Lost");
        },
      });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {}, { id: "o" });
    expect(await run.result()).toMatchObject({ status: "STALLED" });
    expect((await amends.inspect("o"))?.actions).toContain("cancel");
    expect(await amends.cancel("o", note).catch(code)).toBe("CANCEL_REFUSED");
    await amends.cancel("o", { ...note, pivotDidNotHappen: true });
    await expect.poll(async () => (await amends.inspect("o"))?.status).toBe("FAILED");
    expect(log).toEqual(["release"]);
    expect((await amends.inspect("o"))?.timeline).toContainEqual(
      expect.objectContaining({ name: "turn", note: "the carrier says so", by: "ann" }),
    );
  });

  it("[S-38][S-22] what a person knows of the pivot is not asked for where the pivot is done", async () => {
    const order = saga("order", nothing)
      .pivot("pay", { act: () => 1 })
      .step("ship", {
        act: () => {
          throw new Terminal("Gone");
        },
      });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    await (await amends.start(order, {}, { id: "o" })).result();
    const given = { ...note, pivotDidNotHappen: true };
    expect(await amends.cancel("o", given).catch(code)).toBe("CANCEL_REFUSED");
    expect((await amends.inspect("o"))?.status).toBe("STALLED");
  });
});
