/** Creating and changing sagas, and refused calls: S-02 and S-15. */
import assert from "node:assert/strict";
import type { SagaOperations, SagaStorage } from "../../contract/contract.ts";
import { mayBecome } from "../../contract/contract.ts";
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { portrait, refused, running, unchanged, type StorageCase } from "./storage-trial.ts";

export const CHANGES: Readonly<Record<string, (on: SagaOperations, id: string) => Promise<void>>> = {
  updateContext: (on, id) => on.updateContext(id, { changed: true }),
  updateStatus: (on, id) => on.updateStatus(id, "RUNNING"),
  logStep: (on, id) => on.logStep(id, "reserve", "act", "STARTED"),
};

const COUNTER_CHANGES: Readonly<Record<string, (on: SagaStorage, id: string) => Promise<void>>> = {
  incrementRecoveryAttempts: (on, id) => on.incrementRecoveryAttempts(id),
  "incrementRecoveryAttempts with a status": (on, id) => on.incrementRecoveryAttempts(id, "RUNNING"),
  setRecoveryAttempts: (on, id) => on.setRecoveryAttempts(id, 2),
};

/** A shortest path to each status, along the arrows. */
const WAYS: Readonly<Record<SagaStatus, readonly SagaStatus[]>> = {
  PENDING: [],
  RUNNING: ["RUNNING"],
  COMPENSATING: ["RUNNING", "COMPENSATING"],
  STALLED: ["STALLED"],
  COMPLETED: ["RUNNING", "COMPLETED"],
  FAILED: ["FAILED"],
};

async function bring(storage: SagaStorage, id: string, status: SagaStatus): Promise<void> {
  await storage.createSaga(id, "order", {});
  for (const step of WAYS[status]) await storage.updateStatus(id, step);
}

export const lifeCases: readonly StorageCase[] = [
  {
    name: "[S-02][S-15] a new saga is PENDING with version 1, its context and no history",
    async show({ storage }) {
      await storage.createSaga("saga-1", "order", { sku: "tea", cents: 1200 });
      const state = { status: "PENDING", context: { sku: "tea", cents: 1200 }, version: 1 };
      assert.deepEqual(await portrait(storage, "saga-1"), { state, history: [] });
    },
  },
  {
    name: "[S-02] creating a saga whose id exists is refused and changes nothing",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { first: true });
      await unchanged(storage, "saga-1", "creating it again", async () => {
        await refused("createSaga with the same id", "SAGA_CONFLICT", () =>
          storage.createSaga("saga-1", "order", { first: true }),
        );
        await refused("createSaga with the same id and another name", "SAGA_CONFLICT", () =>
          storage.createSaga("saga-1", "refund", {}),
        );
      });
    },
  },
  {
    name: "[S-02] ids are compared exactly",
    async show({ storage }) {
      const ids = ["a", "A", "a ", "ä", "a\u0308", "a/b", "a'b", 'a"b', "a%", "a_", "日本", "x".repeat(180)];
      for (const id of ids) await storage.createSaga(id, "order", { id });
      for (const id of ids) {
        const { context } = await storage.loadSagaState(id);
        assert.deepEqual(context, { id }, `the saga ${JSON.stringify(id)} must be distinct from the others`);
      }
    },
  },
  {
    name: "[S-02][S-15] every operation on an id that does not exist is refused, and creates nothing",
    async show({ storage }) {
      await storage.createSaga("saga-1", "order", {});
      const calls: Record<string, (on: SagaStorage, id: string) => Promise<unknown>> = {
        ...CHANGES,
        ...COUNTER_CHANGES,
        "updateContext with a version": (on, id) => on.updateContext(id, {}, 1),
        loadSagaState: (on, id) => on.loadSagaState(id),
        "loadSagaState for update": (on, id) => on.loadSagaState(id, { readForUpdate: true }),
        getStepHistory: (on, id) => on.getStepHistory(id),
      };
      for (const [name, call] of Object.entries(calls)) {
        await refused(`${name} of an unknown saga`, "SAGA_NOT_FOUND", () => call(storage, "nobody"));
      }
      await refused("loading it afterwards", "SAGA_NOT_FOUND", () => storage.loadSagaState("nobody"));
    },
  },
  {
    name: "[S-15] the version rises with every change, and only with changes",
    async show({ storage }) {
      await storage.createSaga("saga-1", "order", {});
      let last = 1;
      for (const [name, change] of Object.entries({ ...CHANGES, ...COUNTER_CHANGES })) {
        await change(storage, "saga-1");
        const { version } = await storage.loadSagaState("saga-1");
        assert.ok(version > last, `${name} must raise the version; it was ${last} and is ${version}`);
        assert.ok(Number.isInteger(version), `a version is a whole number, not ${version}`);
        last = version;
      }
      await storage.loadSagaState("saga-1", { readForUpdate: true });
      await storage.getStepHistory("saga-1");
      await storage.getSagasForRecovery(10);
      assert.equal(
        (await storage.loadSagaState("saga-1")).version,
        last,
        "reading must not raise the version",
      );
    },
  },
  {
    name: "[S-15] updateContext with the saga's version is done, and the version rises",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { n: 0 });
      for (let n = 1; n <= 3; n++) {
        const { version } = await storage.loadSagaState("saga-1");
        await storage.updateContext("saga-1", { n }, version);
        const after = await storage.loadSagaState("saga-1");
        assert.deepEqual(after.context, { n });
        assert.ok(after.version > version, "updateContext must raise the version");
      }
    },
  },
  {
    name: "[S-15] updateContext with any other version is a SagaConcurrencyError and changes nothing",
    async show({ storage }) {
      await running(storage, "saga-1", "order", { n: 0 });
      const { version } = await storage.loadSagaState("saga-1");
      await storage.logStep("saga-1", "reserve", "act", "STARTED");
      const now = (await storage.loadSagaState("saga-1")).version;
      await unchanged(storage, "saga-1", "an update with a wrong version", async () => {
        for (const wrong of [version, 1, 0, now - 1, now + 1]) {
          await refused(`updateContext with version ${wrong} instead of ${now}`, "SAGA_CONCURRENCY", () =>
            storage.updateContext("saga-1", { n: 1 }, wrong),
          );
        }
      });
    },
  },
  {
    name: "[S-15] an old version is a SagaConcurrencyError also where the saga has ended",
    async show({ storage }) {
      await running(storage, "saga-1");
      const { version } = await storage.loadSagaState("saga-1");
      await storage.updateStatus("saga-1", "COMPLETED");
      await refused("updateContext with an old version", "SAGA_CONCURRENCY", () =>
        storage.updateContext("saga-1", { late: true }, version),
      );
    },
  },
  {
    name: "[S-02] a status changes along its arrows, and keeps context and history",
    async show({ storage }) {
      let count = 0;
      for (const from of sagaMachine.states) {
        for (const to of sagaMachine.states) {
          if (!mayBecome(from, to)) continue;
          const id = `saga-${(count += 1)}`;
          await bring(storage, id, from);
          await storage.logStep(id, "reserve", "act", "STARTED");
          await storage.updateStatus(id, to);
          const { state, history } = await portrait(storage, id);
          assert.equal(state.status, to, `a saga that is ${from} must be able to become ${to}`);
          assert.deepEqual(state.context, {}, "a change of status must keep the context");
          assert.equal(history.length, 1, "a change of status must keep the history");
        }
      }
    },
  },
  {
    name: "[S-02] a status that has no arrow is refused and changes nothing",
    async show({ storage }) {
      let count = 0;
      for (const from of sagaMachine.states) {
        const id = `saga-${(count += 1)}`;
        await bring(storage, id, from);
        await unchanged(storage, id, "a refused status", async () => {
          for (const to of sagaMachine.states.filter((status) => !mayBecome(from, status))) {
            await refused(`updateStatus from ${from} to ${to}`, "NOT_ALLOWED_NOW", () =>
              storage.updateStatus(id, to),
            );
            await refused(`incrementRecoveryAttempts from ${from} to ${to}`, "NOT_ALLOWED_NOW", () =>
              storage.incrementRecoveryAttempts(id, to),
            );
          }
        });
      }
    },
  },
  {
    name: "[S-02] a saga that has ended never changes again",
    async show({ storage }) {
      for (const end of sagaMachine.terminal) {
        await bring(storage, end, end);
        await unchanged(storage, end, "a change after the end", async () => {
          for (const [name, change] of Object.entries({ ...CHANGES, ...COUNTER_CHANGES })) {
            await refused(`${name} of a saga that is ${end}`, "NOT_ALLOWED_NOW", () => change(storage, end));
          }
        });
      }
    },
  },
];
