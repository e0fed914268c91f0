/** Which sagas are listed for recovery, in which order, and the counter behind it. S-02. */
import assert from "node:assert/strict";
import { sagaMachine } from "../../core/saga/machine.ts";
import { ALL, attemptsOf, refused, running, unchanged, type StorageCase } from "./storage-trial.ts";

const STALE_SECONDS = 0.5;

export const recoveryCases: readonly StorageCase[] = [
  {
    name: "[S-02] PENDING, RUNNING and COMPENSATING sagas are listed for recovery, and no others",
    async show({ storage }) {
      for (const status of sagaMachine.states) {
        await storage.createSaga(status, "order", {});
        if (status === "PENDING") continue;
        await storage.updateStatus(status, "RUNNING");
        if (status !== "RUNNING") await storage.updateStatus(status, status);
      }
      const listed = (await storage.getSagasForRecovery(ALL)).toSorted();
      assert.deepEqual(listed, ["COMPENSATING", "PENDING", "RUNNING"]);
    },
  },
  {
    name: "[S-02] the list is as long as its limit at most",
    async show({ storage }) {
      assert.deepEqual(await storage.getSagasForRecovery(10), []);
      for (let n = 0; n < 5; n++) await running(storage, `saga-${n}`);
      for (const limit of [0, 1, 3, 5, 50]) {
        const listed = await storage.getSagasForRecovery(limit);
        assert.equal(listed.length, Math.min(limit, 5), `with limit ${limit}`);
        assert.equal(new Set(listed).size, listed.length, "no saga is listed twice");
      }
    },
  },
  {
    name: "[S-02] sagas whose recoveries are used up are left out: the default is five",
    async show({ storage }) {
      for (let attempts = 0; attempts <= 6; attempts++) {
        await running(storage, `saga-${attempts}`);
        await storage.setRecoveryAttempts(`saga-${attempts}`, attempts);
      }
      const upTo = (count: number): string[] => Array.from({ length: count }, (_, n) => `saga-${n}`);
      assert.deepEqual(await storage.getSagasForRecovery(ALL), upTo(5));
      assert.deepEqual(await storage.getSagasForRecovery(ALL, undefined), upTo(5));
      assert.deepEqual(await storage.getSagasForRecovery(ALL, 3), upTo(3));
      assert.deepEqual(await storage.getSagasForRecovery(ALL, 100), upTo(7));
      assert.deepEqual(await storage.getSagasForRecovery(ALL, 0), []);
    },
  },
  {
    name: "[S-02] sagas with the fewest recoveries come first, then the longest unchanged",
    async show({ storage, wait }) {
      for (const id of ["c", "a", "d", "b"]) {
        await running(storage, id);
        await wait(10);
      }
      await storage.setRecoveryAttempts("a", 1);
      await wait(10);
      await storage.setRecoveryAttempts("c", 1);
      assert.deepEqual(await storage.getSagasForRecovery(ALL), ["d", "b", "a", "c"]);
      assert.deepEqual(
        await storage.getSagasForRecovery(3),
        ["d", "b", "a"],
        "the limit takes the first ones",
      );
      await wait(10);
      await storage.updateContext("d", { changed: true });
      assert.deepEqual(await storage.getSagasForRecovery(ALL), ["b", "d", "a", "c"]);
    },
  },
  {
    name: "[S-02] with a name, only sagas of that name are listed",
    async show({ storage }) {
      await running(storage, "saga-1", "order");
      await running(storage, "saga-2", "order-2");
      await running(storage, "saga-3", "Order");
      assert.deepEqual(await storage.getSagasForRecovery(ALL, 5, undefined, "order"), ["saga-1"]);
      assert.deepEqual(await storage.getSagasForRecovery(1, 5, undefined, "Order"), ["saga-3"]);
      assert.deepEqual(await storage.getSagasForRecovery(ALL, 5, undefined, "refund"), []);
      assert.equal((await storage.getSagasForRecovery(ALL, 5, undefined, undefined)).length, 3);
    },
  },
  {
    name: "[S-02] with a staleness, only sagas that were not changed for so long are listed",
    async show({ storage, wait }) {
      const isStale = async (): Promise<boolean> =>
        (await storage.getSagasForRecovery(ALL, 5, STALE_SECONDS)).includes("saga-1");
      const touches: Record<string, () => Promise<void>> = {
        "its creation": () => storage.createSaga("saga-1", "order", {}),
        updateStatus: () => storage.updateStatus("saga-1", "RUNNING"),
        updateContext: () => storage.updateContext("saga-1", { n: 1 }),
        logStep: () => storage.logStep("saga-1", "reserve", "act", "STARTED"),
      };
      for (const [what, touch] of Object.entries(touches)) {
        const begunAt = performance.now();
        await touch();
        const listed = await isStale();
        // If the machine paused meanwhile, the check is inconclusive.
        const isFresh = performance.now() - begunAt < STALE_SECONDS * 900;
        assert.ok(!listed || !isFresh, `a saga is not stale right after ${what}`);
        for (let waited = 0; !(await isStale()); waited += 100) {
          assert.ok(waited < 10_000, `a saga must become stale ${STALE_SECONDS} s after ${what}`);
          await wait(100);
        }
      }
      assert.deepEqual(await storage.getSagasForRecovery(ALL, 5, 3_600), []);
      assert.deepEqual(await storage.getSagasForRecovery(ALL, 5, 0), ["saga-1"]);
      assert.deepEqual(await storage.getSagasForRecovery(ALL, 5), ["saga-1"]);
    },
  },
  {
    name: "[S-02] incrementRecoveryAttempts adds one, and changes the status with it where one is given",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { kept: true });
      assert.equal(await attemptsOf(storage, "saga-1"), 0);
      await storage.incrementRecoveryAttempts("saga-1");
      await storage.incrementRecoveryAttempts("saga-1");
      assert.equal(await attemptsOf(storage, "saga-1"), 2);
      assert.equal((await storage.loadSagaState("saga-1")).status, "RUNNING");
      await storage.incrementRecoveryAttempts("saga-1", "COMPENSATING");
      assert.equal(await attemptsOf(storage, "saga-1"), 3);
      assert.equal((await storage.loadSagaState("saga-1")).status, "COMPENSATING");
      await storage.incrementRecoveryAttempts("saga-1", "FAILED");
      const { status, context } = await storage.loadSagaState("saga-1");
      assert.deepEqual([status, context], ["FAILED", { kept: true }]);
    },
  },
  {
    name: "[S-02] setRecoveryAttempts sets the counter: back to none, or so high that the saga is left out",
    async show({ storage }) {
      await running(storage, "saga-1");
      await storage.setRecoveryAttempts("saga-1", 5);
      assert.deepEqual(await storage.getSagasForRecovery(ALL), []);
      assert.equal((await storage.loadSagaState("saga-1")).status, "RUNNING", "the status stays as it is");
      await storage.setRecoveryAttempts("saga-1", 0);
      assert.equal(await attemptsOf(storage, "saga-1"), 0);
      await unchanged(storage, "saga-1", "a refused number of attempts", async () => {
        for (const wrong of [-1, 1.5, Number.NaN]) {
          await refused(`setRecoveryAttempts(${wrong})`, "BAD_OPTION", () =>
            storage.setRecoveryAttempts("saga-1", wrong),
          );
        }
      });
    },
  },
];
