import { saga } from "amends";
import { SagaConcurrencyError, SqlSagaStorage } from "amends/storage";
import { expect, it } from "vitest";
import { z } from "zod";
import { claimToken } from "../../src/core/claim-token.ts";
import { insertLines } from "../../src/sagas/journal/line-queries.ts";
import { onEachDatabase } from "../support/databases.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  it("[S-15] the version starts at 1 and rises with every change", async () => {
    const storage = new SqlSagaStorage(await database.open());
    const version = async (): Promise<number> => (await storage.loadSagaState("s-1")).version;
    await storage.createSaga("s-1", "order", { n: 1 });
    const seen = [await version()];
    const changes: (() => Promise<void>)[] = [
      () => storage.updateContext("s-1", { n: 2 }),
      () => storage.updateContext("s-1", { n: 3 }, 2),
      () => storage.updateStatus("s-1", "RUNNING"),
      () => storage.logStep("s-1", "one", "act", "STARTED"),
      () => storage.incrementRecoveryAttempts("s-1"),
      () => storage.setRecoveryAttempts("s-1", 0),
    ];
    for (const change of changes) {
      await change();
      seen.push(await version());
    }
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it("[S-15] a mismatch is SagaConcurrencyError, says both versions, and changes nothing", async () => {
    const storage = new SqlSagaStorage(await database.open());
    await storage.createSaga("s-1", "order", { n: 1 });
    await storage.updateContext("s-1", { n: 2 }, 1);
    const before = await storage.loadSagaState("s-1");
    for (const wrong of [1, 3, 0, -1]) {
      const refused = storage.updateContext("s-1", { n: 99 }, wrong);
      await expect(refused).rejects.toBeInstanceOf(SagaConcurrencyError);
      await expect(refused).rejects.toMatchObject({
        code: "SAGA_CONCURRENCY",
        details: { sagaId: "s-1", expected: wrong, found: 2 },
      });
    }
    expect(await storage.loadSagaState("s-1")).toEqual(before);
  });

  it("[S-15] of two writers who read the same version, one wins", async () => {
    const one = new SqlSagaStorage(await database.open());
    const two = new SqlSagaStorage(await database.open());
    await one.createSaga("s-1", "order", {});
    const settled = await Promise.allSettled([
      one.updateContext("s-1", { by: "one" }, 1),
      two.updateContext("s-1", { by: "two" }, 1),
    ]);
    expect(settled.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const winner = settled[0]?.status === "fulfilled" ? "one" : "two";
    expect(await one.loadSagaState("s-1")).toMatchObject({ context: { by: winner }, version: 2 });
  });

  it("[S-15] changing a saga that does not exist is an error", async () => {
    const storage = new SqlSagaStorage(await database.open());
    const missing = { code: "SAGA_NOT_FOUND" };
    await expect(storage.updateContext("nobody", {})).rejects.toMatchObject(missing);
    await expect(storage.updateContext("nobody", {}, 1)).rejects.toMatchObject(missing);
    await expect(storage.updateStatus("nobody", "RUNNING")).rejects.toMatchObject(missing);
    await expect(storage.logStep("nobody", "one", "act", "STARTED")).rejects.toMatchObject(missing);
    await expect(storage.incrementRecoveryAttempts("nobody")).rejects.toMatchObject(missing);
    await expect(storage.setRecoveryAttempts("nobody", 1)).rejects.toMatchObject(missing);
    await expect(storage.loadSagaState("nobody")).rejects.toMatchObject(missing);
  });

  it("[S-15] the engine's version rises with every line that it writes", async () => {
    const versions: number[] = [];
    const chain = saga("chain", nothing)
      .step("one", { act: async ({ sagaId }) => void versions.push(await versionOf(sagaId)) })
      .step("two", { act: async ({ sagaId }) => void versions.push(await versionOf(sagaId)) });
    const amends = await database.amends({ sagas: [chain] });
    const versionOf = async (id: string): Promise<number> => (await amends.inspect(id))?.revision ?? 0;
    await database.worker(amends);
    const run = await amends.start(chain, {});
    await run.result();
    expect([...versions, await versionOf(run.id)]).toEqual([1, 2, 3]);
  });

  it("[S-15] the engine checks the version at each checkpoint: whoever lost the saga writes nothing more", async () => {
    const look = await onlooker(database);
    const held = gate();
    const chain = saga("chain", nothing)
      .step("one", { act: () => held.pass() })
      .step("two", { act: () => Promise.reject(new Error("never reached")) });
    const amends = await database.amends({ sagas: [chain] });
    await database.worker(amends);
    const run = await amends.start(chain, {});
    await held.reached;
    // Another worker takes the saga in this very moment: its claim is a line with a newer token.
    const entry = { step: "$claim", action: "act", status: "COMPLETED", details: "{}" } as const;
    await look.db.query(
      insertLines(look.db.dialect, [{ sagaId: run.id, version: 2, token: claimToken(2, 7), entry }]),
    );
    held.open();
    await expect.poll(() => amends.counters.lost).toBe(1);
    expect(await look.lines(run.id)).toEqual(["$claim act COMPLETED"]);
    expect(await look.history(run.id)).toEqual(["one act STARTED"]);
  });
});
