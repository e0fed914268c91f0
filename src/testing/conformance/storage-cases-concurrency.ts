/** Concurrent callers: exactly one wins if only one can, and no change is lost if all can. S-15. */
import assert from "node:assert/strict";
import { ALL, attemptsOf, running, type StorageCase } from "./storage-trial.ts";

const CALLERS = Array.from({ length: 8 }, (_, n) => n);

export const concurrencyCases: readonly StorageCase[] = [
  {
    name: "[S-15] of several updates over the same version, exactly one is done",
    async show({ storage }) {
      await running(storage, "saga-1");
      for (let round = 0; round < 5; round++) {
        const { version } = await storage.loadSagaState("saga-1");
        const by = await onlyWinner("SAGA_CONCURRENCY", (n) =>
          storage.updateContext("saga-1", { round, by: n }, version),
        );
        assert.deepEqual((await storage.loadSagaState("saga-1")).context, { round, by });
      }
    },
  },
  {
    name: "[S-02] of several creations with the same id, exactly one is done",
    async show({ storage }) {
      const by = await onlyWinner("SAGA_CONFLICT", (n) => storage.createSaga("saga-1", "order", { by: n }));
      const found = await storage.loadSagaState("saga-1");
      assert.deepEqual(found, { status: "PENDING", context: { by }, version: 1 });
    },
  },
  {
    name: "[S-15] changes without a version are all done, one after the other",
    async show({ storage }) {
      await running(storage, "saga-1");
      const { version } = await storage.loadSagaState("saga-1");
      await Promise.all(CALLERS.map((n) => storage.updateContext("saga-1", { by: n })));
      const after = await storage.loadSagaState("saga-1");
      assert.ok(after.version >= version + CALLERS.length, "each change must raise the version by itself");
      await Promise.all(CALLERS.map(() => storage.incrementRecoveryAttempts("saga-1")));
      assert.equal(await attemptsOf(storage, "saga-1"), CALLERS.length, "no recovery attempt may be lost");
    },
  },
  {
    name: "[S-02][S-03] lines that are logged at once are all kept, under ids of their own",
    async show({ storage }) {
      await running(storage, "saga-1");
      await Promise.all(CALLERS.map((n) => storage.logStep("saga-1", `step-${n}`, "act", "STARTED")));
      const entries = await storage.getStepHistory("saga-1");
      assert.deepEqual(
        entries.map(({ stepName }) => stepName).toSorted(),
        CALLERS.map((n) => `step-${n}`),
      );
      assert.equal(
        new Set(entries.map(({ id }) => id)).size,
        CALLERS.length,
        "each line must have an id of its own",
      );
    },
  },
  {
    name: "[S-15] sagas do not block each other",
    async show({ storage }) {
      await Promise.all(CALLERS.map((n) => running(storage, `saga-${n}`, "order", { n })));
      await Promise.all(
        CALLERS.map(async (n) => {
          const { version } = await storage.loadSagaState(`saga-${n}`);
          await storage.updateContext(`saga-${n}`, { n, done: true }, version);
        }),
      );
      for (const n of CALLERS) {
        assert.deepEqual((await storage.loadSagaState(`saga-${n}`)).context, { n, done: true });
      }
      assert.equal((await storage.getSagasForRecovery(ALL)).length, CALLERS.length);
    },
  },
];

/** Runs all callers at once and returns the winners. All others must have been refused with this code. */
export async function onlyWinner(
  code: string,
  attempt: (caller: number) => Promise<unknown>,
): Promise<number> {
  const results = await Promise.allSettled(CALLERS.map((n) => attempt(n)));
  const winners = CALLERS.filter((n) => results[n]?.status === "fulfilled");
  const codes = results.flatMap((result) =>
    result.status === "rejected" ? [(result.reason as { code?: unknown }).code ?? String(result.reason)] : [],
  );
  assert.equal(winners.length, 1, `exactly one of ${CALLERS.length} must win, not ${winners.length}`);
  assert.deepEqual([...new Set(codes)], [code], "all others must be refused for the same reason");
  return winners[0] as number;
}
