/** Runs: uncommitted changes are invisible to others, committed changes are visible to all. S-04. */
import assert from "node:assert/strict";
import { CHANGES } from "./storage-cases-life.ts";
import { onlyWinner } from "./storage-cases-concurrency.ts";
import { createRun, portrait, refused, running, unchanged, type StorageCase } from "./storage-trial.ts";

export const runCases: readonly StorageCase[] = [
  {
    name: "[S-04] nothing of a run is visible before its commit, and everything is after it",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { n: 0 });
      const before = await portrait(storage, "saga-1");
      await createRun(storage, async (run) => {
        await run.updateContext("saga-1", { n: 1 });
        await run.logStep("saga-1", "reserve", "act", "COMPLETED", "7");
        await run.updateStatus("saga-1", "COMPENSATING");
        assert.deepEqual(
          await portrait(storage, "saga-1"),
          before,
          "before the commit no other caller sees a change",
        );
        await run.commit();
        const after = await portrait(storage, "saga-1");
        assert.deepEqual([after.state.status, after.state.context], ["COMPENSATING", { n: 1 }]);
        assert.deepEqual(after.history, ["reserve act COMPLETED 7"]);
        assert.ok(after.state.version > before.state.version, "a commit of changes must raise the version");
      });
      assert.deepEqual((await storage.loadSagaState("saga-1")).context, { n: 1 }, "it stays after the run");
    },
  },
  {
    name: "[S-04] a saga that a run creates exists for others from its commit on",
    async show({ storage }) {
      await createRun(storage, async (run) => {
        await run.createSaga("saga-1", "order", { n: 1 });
        await run.updateStatus("saga-1", "RUNNING");
        await run.logStep("saga-1", "reserve", "act", "STARTED");
        await refused("loading it from outside before the commit", "SAGA_NOT_FOUND", () =>
          storage.loadSagaState("saga-1"),
        );
        assert.deepEqual(await storage.getSagasForRecovery(10), []);
        await run.commit();
      });
      const { state, history } = await portrait(storage, "saga-1");
      assert.deepEqual([state.status, state.context], ["RUNNING", { n: 1 }]);
      assert.deepEqual(history, ["reserve act STARTED null"]);
      assert.deepEqual(await storage.getSagasForRecovery(10), ["saga-1"]);
    },
  },
  {
    name: "[S-04] a run sees its own changes",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { n: 0 });
      await storage.logStep("saga-1", "reserve", "act", "STARTED");
      await createRun(storage, async (run) => {
        const { version } = await run.loadSagaState("saga-1");
        await run.updateContext("saga-1", { n: 1 }, version);
        await refused("an update over the version before the run's own change", "SAGA_CONCURRENCY", () =>
          run.updateContext("saga-1", { n: 2 }, version),
        );
        await run.logStep("saga-1", "reserve", "act", "COMPLETED");
        await run.updateStatus("saga-1", "COMPENSATING");
        const { state, history } = await portrait(run, "saga-1");
        assert.deepEqual([state.status, state.context], ["COMPENSATING", { n: 1 }]);
        assert.ok(state.version > version, "the version rises inside the run too");
        assert.deepEqual(history, ["reserve act STARTED null", "reserve act COMPLETED null"]);
        await run.createSaga("saga-2", "order", { n: 2 });
        assert.deepEqual((await run.loadSagaState("saga-2")).context, { n: 2 });
        await refused("creating it again in the same run", "SAGA_CONFLICT", () =>
          run.createSaga("saga-2", "order", {}),
        );
      });
    },
  },
  {
    name: "[S-04] a run may commit several times, and later commits go on from the earlier ones",
    async show({ storage }) {
      const value = await createRun(storage, async (run) => {
        await run.createSaga("saga-1", "order", { n: 0 });
        await run.updateStatus("saga-1", "RUNNING");
        await run.commit();
        for (let n = 1; n <= 3; n++) {
          const { version, context } = await run.loadSagaState("saga-1");
          assert.deepEqual(context, { n: n - 1 });
          await run.updateContext("saga-1", { n }, version);
          await run.logStep("saga-1", `step-${n}`, "act", "COMPLETED");
          await run.commit();
          assert.deepEqual((await storage.loadSagaState("saga-1")).context, { n }, `after commit ${n + 1}`);
        }
        await run.updateStatus("saga-1", "COMPLETED");
        await run.commit();
        await run.commit();
        return "done";
      });
      assert.equal(value, "done", "createRun must return what its work returns");
      const { state, history } = await portrait(storage, "saga-1");
      assert.deepEqual([state.status, state.context], ["COMPLETED", { n: 3 }]);
      assert.deepEqual(
        history,
        [1, 2, 3].map((n) => `step-${n} act COMPLETED null`),
      );
    },
  },
  {
    name: "[S-04] rollback writes nothing, and the run goes on from what is committed",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { n: 0 });
      await createRun(storage, async (run) => {
        await unchanged(storage, "saga-1", "a rollback", async () => {
          await run.updateContext("saga-1", { n: 1 });
          await run.logStep("saga-1", "reserve", "act", "STARTED");
          await run.createSaga("saga-2", "order", {});
          await run.rollback();
          await run.commit();
        });
        await refused("loading a saga whose creation was rolled back", "SAGA_NOT_FOUND", () =>
          run.loadSagaState("saga-2"),
        );
        assert.deepEqual((await run.loadSagaState("saga-1")).context, { n: 0 });
        await run.updateContext("saga-1", { n: 2 });
        await run.commit();
      });
      assert.deepEqual((await storage.loadSagaState("saga-1")).context, { n: 2 });
    },
  },
  {
    name: "[S-04] leaving a run with an error writes nothing more, and the error comes out as it was",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { n: 0 });
      const thrown = new Error("the step broke");
      const left = await createRun(storage, async (run) => {
        await run.updateContext("saga-1", { n: 1 });
        await run.commit();
        await run.updateContext("saga-1", { n: 2 });
        await run.logStep("saga-1", "reserve", "act", "STARTED");
        await run.createSaga("saga-2", "order", {});
        throw thrown;
      }).catch((error: unknown) => error);
      assert.equal(left, thrown, "createRun must reject with what its work threw");
      const { state, history } = await portrait(storage, "saga-1");
      assert.deepEqual([state.context, history], [{ n: 1 }, []], "the last commit must be what is left");
      await refused("loading what was not committed", "SAGA_NOT_FOUND", () =>
        storage.loadSagaState("saga-2"),
      );
    },
  },
  {
    name: "[S-04] leaving a run without a commit writes nothing",
    async show({ storage }) {
      await running(storage, "saga-1");
      await unchanged(storage, "saga-1", "a run without a commit", async () => {
        await createRun(storage, async (run) => {
          for (const change of Object.values(CHANGES)) await change(run, "saga-1");
        });
      });
    },
  },
  {
    name: "[S-04][S-15] a run that is refused writes nothing at all",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { n: 0 });
      await running(storage, "saga-2", "order", { n: 0 });
      const { version } = await storage.loadSagaState("saga-2");
      await storage.updateContext("saga-2", { n: 1 });
      await unchanged(storage, "saga-1", "a refused run", () =>
        refused("a run with an old version", "SAGA_CONCURRENCY", () =>
          createRun(storage, async (run) => {
            await run.updateContext("saga-1", { n: 5 });
            await run.logStep("saga-1", "reserve", "act", "STARTED");
            await run.updateContext("saga-2", { n: 5 }, version);
            await run.commit();
          }),
        ),
      );
      assert.deepEqual((await storage.loadSagaState("saga-2")).context, { n: 1 });
    },
  },
  {
    name: "[S-04][S-15] changing a saga that does not exist is refused in a run too",
    async show({ storage }) {
      for (const [name, change] of Object.entries(CHANGES)) {
        await refused(`${name} of an unknown saga in a run`, "SAGA_NOT_FOUND", () =>
          createRun(storage, async (run) => {
            await change(run, "nobody");
            await run.commit();
          }),
        );
      }
      await createRun(storage, async (run) => {
        await refused("loadSagaState in a run", "SAGA_NOT_FOUND", () => run.loadSagaState("nobody"));
        await refused("getStepHistory in a run", "SAGA_NOT_FOUND", () => run.getStepHistory("nobody"));
      });
    },
  },
  {
    name: "[S-04] a run's saga whose id exists is refused, at the latest when it commits",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { first: true });
      await unchanged(storage, "saga-1", "a refused creation", () =>
        refused("createSaga in a run", "SAGA_CONFLICT", () =>
          createRun(storage, async (run) => {
            await run.createSaga("saga-1", "order", {});
            await run.commit();
          }),
        ),
      );
    },
  },
  {
    name: "[S-04][S-15] of several runs over the same version, exactly one commits",
    async show({ storage }) {
      await running(storage, "saga-1");
      const { version } = await storage.loadSagaState("saga-1");
      const by = await onlyWinner("SAGA_CONCURRENCY", (n) =>
        createRun(storage, async (run) => {
          await run.updateContext("saga-1", { by: n }, version);
          await run.logStep("saga-1", `by-${n}`, "act", "STARTED");
          await run.commit();
        }),
      );
      const { state, history } = await portrait(storage, "saga-1");
      assert.deepEqual([state.context, history], [{ by }, [`by-${by} act STARTED null`]]);
    },
  },
  {
    name: "[S-04][S-15] no change is lost between a read for update and the commit of its run",
    async show({ storage, wait }) {
      await running(storage, "saga-1", "order", { by: "nobody" });
      let tellRead: () => void = () => undefined;
      let isOtherDone = false;
      // The other call is made outside of the run: a storage may refuse calls inside a run that holds a lock.
      const other = new Promise<void>((resolve) => (tellRead = resolve)).then(() =>
        succeeded(storage.updateContext("saga-1", { by: "other" })),
      );
      void other.then(
        () => (isOtherDone = true),
        () => (isOtherDone = true),
      );
      const ran = await succeeded(
        createRun(storage, async (run) => {
          const { context } = await run.loadSagaState("saga-1", { readForUpdate: true });
          tellRead();
          // In a storage with locks the other call waits until this run has ended, so it cannot be awaited here.
          for (let waited = 0; !isOtherDone && waited < 200; waited += 10) await wait(10);
          await run.updateContext("saga-1", { by: "run", saw: context["by"] });
          await run.commit();
        }),
      );
      const wasDone = await other;
      const { context } = await storage.loadSagaState("saga-1");
      assert.ok(ran || wasDone, "one of the two must be able to change the saga");
      const expected = wasDone ? { by: "other" } : { by: "run", saw: "nobody" };
      assert.deepEqual(context, expected, "the run must not write over a change that it has not seen");
    },
  },
];

/** True if the call succeeded, false if it was refused because of the other one. */
async function succeeded(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, "SAGA_CONCURRENCY", `refused with: ${String(error)}`);
    return false;
  }
}
