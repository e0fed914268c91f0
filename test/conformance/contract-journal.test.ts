/** What the engine asks of a storage of one's own, where a race decides and a test must not depend on one. */
import { FIRST_CLAIM } from "../support/claims.ts";
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { evolve } from "../../src/core/saga/evolve.ts";
import { initial } from "../../src/core/saga/state.ts";
import { ContractJournal } from "../../src/contract/journal.ts";
import type { Checkpoint, NewSaga } from "../../src/sagas/journal/journal.ts";
import { RunningMapStorage } from "./running-map-storage.ts";
import { appended } from "../support/appended.ts";

const { plan } = saga("chain", z.object({})).step("one", { act: () => 1 });
const kinds = [{ name: "chain", version: 1 }];

function newSaga(id: string, owner: string | undefined): NewSaga {
  return {
    id,
    name: "chain",
    definition: 1,
    input: "{}",
    plan,
    deadlineMs: undefined,
    owner,
    token: owner === undefined ? 0 : FIRST_CLAIM,
    leaseMs: 60_000,
    interests: [],
    gate: undefined,
    priority: 0,
    attributes: undefined,
  };
}

function completed(sagaId: string, version: number): Checkpoint {
  const entry = { step: "one", action: "act", status: "COMPLETED", details: null } as const;
  const move = {
    from: "RUNNING",
    to: "COMPLETED",
    releaseMs: undefined,
    error: null,
    recovered: false,
  } as const;
  return {
    sagaId,
    epoch: 0,
    token: FIRST_CLAIM,
    version,
    entry,
    emissions: [],
    move,
    state: evolve(initial(plan, true), entry),
  };
}

it("[S-16] a renewal that comes after the end finds nothing to renew, and troubles no other saga", async () => {
  const journal = new ContractJournal(new RunningMapStorage());
  for (const id of ["ended", "running"]) await journal.create(newSaga(id, "worker"));
  expect(await appended(journal, completed("ended", 2))).toBe(true);
  const held = await journal.renew(["ended", "running", "nobody"].map((id) => ({ id, token: FIRST_CLAIM })));
  expect([...held]).toEqual([["running", 1]]);
});

it("[S-15] a checkpoint at a version that is taken is refused", async () => {
  const journal = new ContractJournal(new RunningMapStorage());
  await journal.create(newSaga("saga-1", "worker"));
  for (const version of [1, 3]) expect(await appended(journal, completed("saga-1", version))).toBe(false);
  expect(await appended(journal, completed("saga-1", 2))).toBe(true);
  expect(await appended(journal, completed("saga-1", 2))).toBe(false);
  expect((await journal.load("saga-1"))?.entries).toHaveLength(1);
});

it("[K-17] trouble with one saga does not cost the claim of another that was taken before it", async () => {
  const storage = new RunningMapStorage();
  const journal = new ContractJournal(storage);
  await journal.create(newSaga("good", undefined));
  await journal.create(newSaga("later", undefined));
  const { loadSagaState } = storage;
  storage.loadSagaState = (id) =>
    id === "later" ? Promise.reject(new Error("unreadable")) : loadSagaState(id);
  const taken = await journal.claim(kinds, 10, "worker", 60_000);
  expect(taken.map(({ id }) => id)).toEqual(["good"]);
  await expect(journal.claim(kinds, 10, "worker", 60_000)).rejects.toThrow("unreadable");
});

it("[K-03] a saga that is not due is looked at again when it is, and not at every poll before", async () => {
  let now = 0;
  let loads = 0;
  const storage = new RunningMapStorage();
  const { loadSagaState } = storage;
  storage.loadSagaState = (id) => {
    loads += 1;
    return loadSagaState(id);
  };
  const journal = new ContractJournal(storage, () => now);
  await journal.create(newSaga("saga-1", "worker"));
  const failed = {
    step: "one",
    action: "act",
    status: "FAILED",
    details: '{"kind":"retry","label":"E"}',
  } as const;
  const move = { from: "RUNNING", to: "RUNNING", releaseMs: 5_000, error: null, recovered: false } as const;
  const state = evolve(initial(plan, true), failed);
  await appended(journal, { ...completed("saga-1", 2), entry: failed, move, state });
  loads = 0;
  for (now = 0; now < 5_000; now += 100) {
    expect(await journal.claim(kinds, 10, "worker", 60_000)).toEqual([]);
  }
  expect(loads).toBe(1);
  expect(await journal.claim(kinds, 10, "worker", 60_000)).toHaveLength(1);
});
