/** A suite that everything passes is worth nothing: each storage here has one fault, and the suite must name it. */
import { SagaConcurrencyError, type SagaStorage, type SagaStorageRun } from "amends/storage";
import { sagaStorageConformance, type MakeStorage } from "amends/testing";
import { expect, it } from "vitest";
import { RunningMapStorage } from "./running-map-storage.ts";

interface Fault {
  readonly fault: string;
  /** Part of the name of the case that must fail, and of what it must say. */
  readonly fails: string;
  readonly says: RegExp;
  /** Breaks a storage that conforms. */
  readonly make: (good: Storage) => Partial<SagaStorage>;
}

type Storage = Required<SagaStorage>;

/** A storage whose runs go through `change`. */
function withRuns(
  good: Storage,
  change: (run: SagaStorageRun) => Partial<SagaStorageRun>,
): Partial<SagaStorage> {
  return { createRun: (work) => good.createRun((run) => work({ ...run, ...change(run) })) };
}

const FAULTS: readonly Fault[] = [
  {
    fault: "a second creation that is swallowed",
    fails: "creating a saga whose id exists",
    says: /must be refused with SAGA_CONFLICT, but it was accepted/,
    make: (good) => ({ createSaga: (...given) => good.createSaga(...given).catch(() => undefined) }),
  },
  {
    fault: "ids that are told apart by their lower case",
    fails: "ids are compared exactly",
    says: /exists/,
    make: (good) => ({ createSaga: (id, ...given) => good.createSaga(id.toLowerCase(), ...given) }),
  },
  {
    fault: "an unknown saga that is silently not changed",
    fails: "every operation on an id that does not exist",
    says: /updateContext of an unknown saga must be refused with SAGA_NOT_FOUND/,
    make: (good) => ({ updateContext: (...given) => good.updateContext(...given).catch(() => undefined) }),
  },
  {
    fault: "an error without a code",
    fails: "every operation on an id that does not exist",
    says: /must be refused with the code SAGA_NOT_FOUND; it was refused with undefined: no row/,
    make: (good) => ({
      loadSagaState: (id) => good.loadSagaState(id).catch(() => Promise.reject(new Error("no row"))),
    }),
  },
  {
    fault: "a version that is not compared",
    fails: "updateContext with any other version",
    says: /SAGA_CONCURRENCY, but it was accepted/,
    make: (good) => ({ updateContext: (id, context) => good.updateContext(id, context) }),
  },
  {
    fault: "a version that is compared first and written later",
    fails: "of several updates over the same version",
    says: /exactly one of 8 must win, not 8/,
    make: (good) => ({
      async updateContext(id, context, version) {
        const found = await good.loadSagaState(id);
        if ((version ?? found.version) !== found.version)
          throw new SagaConcurrencyError(id, 0, found.version);
        await new Promise((resolve) => setImmediate(resolve));
        await good.updateContext(id, context);
      },
    }),
  },
  {
    fault: "a version that logging does not raise",
    fails: "the version rises with every change",
    says: /logStep must raise the version/,
    make: (good) => {
      let logged = 0;
      return {
        async logStep(...given) {
          await good.logStep(...given);
          logged += 1;
        },
        async loadSagaState(id) {
          const state = await good.loadSagaState(id);
          return { ...state, version: state.version - logged };
        },
      };
    },
  },
  {
    fault: "a saga that has ended and is updated all the same",
    fails: "a saga that has ended never changes again",
    says: /of a saga that is (COMPLETED|FAILED) must be refused/,
    make: (good) => ({ updateContext: (...given) => good.updateContext(...given).catch(() => undefined) }),
  },
  {
    fault: "contexts that are merged",
    fails: "takes the place of the old one as a whole",
    says: /deep-equal/,
    make: (good) => ({
      async updateContext(id, context, version) {
        const { context: old } = await good.loadSagaState(id);
        await good.updateContext(id, { ...old, ...context }, version);
      },
    }),
  },
  {
    fault: "contexts that are handed out as they are kept",
    fails: "later changes to an object do not reach",
    says: /after loadSagaState/,
    make: (good) => {
      const kept = new Map<string, Awaited<ReturnType<SagaStorage["loadSagaState"]>>>();
      return {
        async loadSagaState(id) {
          const state = await good.loadSagaState(id);
          const old = kept.get(id);
          const same = old?.version === state.version ? old : state;
          kept.set(id, same);
          return same;
        },
      };
    },
  },
  {
    fault: "a history that is sorted by name",
    fails: "oldest first",
    says: /deep-equal/,
    make: (good) => ({
      getStepHistory: async (id) =>
        (await good.getStepHistory(id)).toSorted((a, b) => (a.stepName < b.stepName ? -1 : 1)),
    }),
  },
  {
    fault: "a list without a limit",
    fails: "as long as its limit at most",
    says: /with limit 0/,
    make: (good) => ({
      getSagasForRecovery: (_limit, ...given) => good.getSagasForRecovery(1_000, ...given),
    }),
  },
  {
    fault: "a list that forgets the pending ones",
    fails: "PENDING, RUNNING and COMPENSATING sagas are listed",
    says: /deep-equal/,
    make: (good) => ({
      getSagasForRecovery: async (...given) =>
        (await good.getSagasForRecovery(...given)).filter((id) => id !== "PENDING"),
    }),
  },
  {
    fault: "a list of every name",
    fails: "only sagas of that name are listed",
    says: /deep-equal/,
    make: (good) => ({
      getSagasForRecovery: (limit, max, stale) => good.getSagasForRecovery(limit, max, stale),
    }),
  },
  {
    fault: "a list that does not ask how stale a saga is",
    fails: "only sagas that were not changed for so long",
    says: /not stale right after its creation/,
    make: (good) => ({
      getSagasForRecovery: (limit, max, _stale, name) =>
        good.getSagasForRecovery(limit, max, undefined, name),
    }),
  },
  {
    fault: "a list in the wrong order",
    fails: "the fewest recoveries come first",
    says: /deep-equal/,
    make: (good) => ({
      getSagasForRecovery: async (...given) => (await good.getSagasForRecovery(...given)).toReversed(),
    }),
  },
  {
    fault: "a counter that forgets the status",
    fails: "incrementRecoveryAttempts adds one",
    says: /COMPENSATING/,
    make: (good) => ({ incrementRecoveryAttempts: (id) => good.incrementRecoveryAttempts(id) }),
  },
  {
    fault: "a run that writes through",
    fails: "nothing of a run is visible before its commit",
    says: /before the commit no other caller sees a change/,
    make: (good) => ({
      createRun: (work) => work({ ...good, commit: async () => undefined, rollback: async () => undefined }),
    }),
  },
  {
    fault: "a rollback that does nothing",
    fails: "rollback writes nothing",
    says: /a rollback must leave the saga as it was/,
    make: (good) => withRuns(good, () => ({ rollback: async () => undefined })),
  },
  {
    fault: "a run that commits when it is left with an error",
    fails: "leaving a run with an error",
    says: /the last commit must be what is left/,
    make: (good) => ({
      createRun: (work) =>
        good.createRun(async (run) => {
          try {
            return await work(run);
          } finally {
            await run.commit();
          }
        }),
    }),
  },
  {
    fault: "a run that does not see its own changes",
    fails: "a run sees its own changes",
    says: /SAGA_CONCURRENCY|deep-equal/,
    make: (good) => withRuns(good, () => ({ loadSagaState: (id) => good.loadSagaState(id) })),
  },
  {
    fault: "a read for update that promises nothing",
    fails: "between a read for update and the commit",
    says: /must not write over a change that it has not seen/,
    make: (good) => withRuns(good, (run) => ({ loadSagaState: (id) => run.loadSagaState(id) })),
  },
  {
    fault: "a storage that hangs",
    fails: "a new saga is PENDING",
    says: /did not answer within 200 ms/,
    make: () => ({ loadSagaState: () => new Promise(() => undefined) }),
  },
];

for (const { fault, fails, says, make } of FAULTS) {
  it(`[T-03] the suite finds ${fault}`, async () => {
    const good = new RunningMapStorage();
    const storage: SagaStorage = { ...bound(good), ...make(bound(good)) };
    const limitMs = fault.includes("hangs") ? 200 : 10_000;
    const cases = sagaStorageConformance(async () => ({ storage, close: async () => undefined }), {
      limitMs,
    });
    const found = cases.filter(({ name }) => name.includes(fails));
    expect(found).toHaveLength(1);
    await expect(found[0]?.run()).rejects.toThrow(says);
  });
}

it("[T-03] runs are looked at unless somebody says that there are none, and never silently left out", async () => {
  const names = (hasCreateRun: boolean): readonly string[] =>
    sagaStorageConformance(() => Promise.reject(new Error("not made")), { hasCreateRun }).map(
      ({ name }) => name,
    );
  const without = names(false);
  const lost = names(true).filter((name) => !without.includes(name));
  expect(lost.length).toBeGreaterThan(10);
  expect(lost.every((name) => name.startsWith("[S-04]"))).toBe(true);

  const make = (isBare: boolean): MakeStorage => {
    const { createRun, ...others } = bound(new RunningMapStorage());
    return async () => ({
      storage: isBare ? others : { ...others, createRun },
      close: async () => undefined,
    });
  };
  const denied = sagaStorageConformance(make(false), { hasCreateRun: false });
  await expect(denied.find(({ name }) => name.includes("createRun"))?.run()).rejects.toThrow(/has createRun/);
  for (const name of lost) {
    const missing = sagaStorageConformance(make(true)).find((one) => one.name === name);
    await expect(missing?.run()).rejects.toThrow(/has no createRun/);
  }
});

it("[T-03] every case closes the storage that it made, however it ends", async () => {
  let open = 0;
  const cases = sagaStorageConformance(async () => {
    open += 1;
    const storage = {
      ...bound(new RunningMapStorage()),
      getStepHistory: () => Promise.reject(new Error("broken")),
    };
    return { storage, close: async () => void (open -= 1) };
  });
  const results = await Promise.allSettled(cases.map(({ run }) => run()));
  expect(open).toBe(0);
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["fulfilled", "rejected"]));
});

/** The storage's operations as plain functions, to be mixed with others. */
function bound(storage: RunningMapStorage): Storage {
  return {
    createSaga: storage.createSaga,
    updateContext: storage.updateContext,
    updateStatus: storage.updateStatus,
    logStep: storage.logStep,
    loadSagaState: storage.loadSagaState,
    getStepHistory: storage.getStepHistory,
    getSagasForRecovery: (...given) => storage.getSagasForRecovery(...given),
    incrementRecoveryAttempts: (...given) => storage.incrementRecoveryAttempts(...given),
    setRecoveryAttempts: (...given) => storage.setRecoveryAttempts(...given),
    createRun: (work) => storage.createRun(work),
  };
}
