import { saga, type Logger } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, virtualClock } from "../support/databases.ts";

onEachDatabase((database) => {
  const mine = saga("mine", z.object({})).step("one", { act: () => "mine" });
  const theirs = saga("theirs", z.object({})).step("one", { act: () => "theirs" });

  it("[K-19] two applications on one database leave each other's sagas alone", async () => {
    const clock = virtualClock();
    const one = await database.amends({ sagas: [mine], clock });
    const other = await database.amends({ sagas: [theirs], clock });
    await one.start(mine, {}, { id: "mine" });
    await other.start(theirs, {}, { id: "theirs" });
    for (let round = 0; round < 3; round++) {
      await one.worker().runOnce();
      await clock.advance(3_600_000);
    }
    expect(await one.inspect("mine")).toMatchObject({ status: "COMPLETED" });
    expect(await one.inspect("theirs")).toMatchObject({
      status: "PENDING",
      version: 1,
      recoveryAttempts: 0,
      owner: undefined,
    });
    await other.worker().runOnce();
    expect(await one.inspect("theirs")).toMatchObject({ status: "COMPLETED", results: { one: "theirs" } });
  });

  it("[K-19] a version that is not registered here is another kind", async () => {
    const newer = saga("mine", z.object({}), { version: 2 }).step("one", { act: () => "newer" });
    const old = await database.amends({ sagas: [mine] });
    const both = await database.amends({ sagas: [mine, newer] });
    await both.start(newer, {}, { id: "newer" });
    await both.start(mine, {}, { id: "older" });
    expect(await old.worker().runOnce()).toBe(1);
    expect(await both.inspect("newer")).toMatchObject({ status: "PENDING" });
    expect(await both.worker().runOnce()).toBe(1);
    expect(await both.inspect("newer")).toMatchObject({ status: "COMPLETED", results: { one: "newer" } });
  });

  it("[K-19] a worker says once at its start which open sagas it leaves alone", async () => {
    const warnings: unknown[] = [];
    const logger: Logger = {
      info: () => undefined,
      warn: (fields) => void warnings.push(fields),
      error: () => undefined,
    };
    const other = await database.amends({ sagas: [theirs] });
    await other.start(theirs, {});
    await other.start(theirs, {});
    const one = await database.amends({ sagas: [mine], logger });
    await database.worker(one);
    expect(warnings).toEqual([{ saga: "theirs", version: 1, sagas: 2 }]);
  });

  it("[K-19] a process that knows no saga claims nothing, and starting one that is not registered is refused", async () => {
    const other = await database.amends({ sagas: [theirs] });
    await other.start(theirs, {}, { id: "theirs" });
    const nobody = await database.amends({});
    expect(await nobody.worker().runOnce()).toBe(0);
    await expect(nobody.start(theirs, {}, { id: "x" })).rejects.toMatchObject({ code: "UNKNOWN_SAGA" });
    expect(await other.inspect("x")).toBeUndefined();
  });

  it("[K-19] crowds of other people's sagas do not keep a worker from its own", async () => {
    const other = await database.amends({ sagas: [theirs] });
    await Promise.all(Array.from({ length: 120 }, () => other.start(theirs, {})));
    const one = await database.amends({ sagas: [mine] });
    await one.start(mine, {}, { id: "mine" });
    expect(await one.worker({ concurrency: 1 }).runOnce()).toBe(1);
    expect(await one.inspect("mine")).toMatchObject({ status: "COMPLETED" });
  });
});
