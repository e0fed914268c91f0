/** The shared parts of the storage suite: its fixture and its assertions. */
import assert from "node:assert/strict";
import type { ErrorCode } from "../../core/errors.ts";
import type {
  SagaContext,
  SagaOperations,
  SagaStorage,
  SagaStorageRun,
  StoredSagaState,
} from "../../contract/contract.ts";

export interface Trial {
  readonly storage: SagaStorage;
  readonly wait: (ms: number) => Promise<void>;
}

export interface StorageCase {
  readonly name: string;
  readonly show: (trial: Trial) => Promise<void>;
}

/** No limit that a test could reach. */
export const ALL = 1_000;

/** Asserts that the call is refused with this code. */
export async function refused(what: string, code: ErrorCode, call: () => Promise<unknown>): Promise<void> {
  let error: unknown;
  try {
    await call();
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error !== undefined, `${what} must be refused with ${code}, but it was accepted`);
  const { code: found, message } = error as { code?: unknown; message?: unknown };
  const instead = `it was refused with ${String(found)}: ${String(message)}`;
  assert.equal(found, code, `${what} must be refused with the code ${code}; ${instead}`);
}

/** Everything that the contract shows of a saga. */
export interface Portrait {
  readonly state: StoredSagaState;
  readonly history: readonly string[];
}

export async function portrait(on: SagaOperations, id: string): Promise<Portrait> {
  const { status, context, version } = await on.loadSagaState(id);
  const entries = await on.getStepHistory(id);
  const history = entries.map(
    ({ stepName, action, status: of, details }) => `${stepName} ${action} ${of} ${String(details)}`,
  );
  return { state: { status, context, version }, history };
}

/** Asserts that the work leaves the saga unchanged. */
export async function unchanged(
  storage: SagaStorage,
  id: string,
  what: string,
  work: () => Promise<void>,
): Promise<void> {
  const before = await portrait(storage, id);
  const attempts = await attemptsOf(storage, id);
  await work();
  assert.deepEqual(await portrait(storage, id), before, `${what} must leave the saga as it was`);
  assert.equal(
    await attemptsOf(storage, id),
    attempts,
    `${what} must leave the recovery attempts as they were`,
  );
}

/** The recovery attempts of a saga, read through the list: undefined if it is not listed. */
export async function attemptsOf(storage: SagaStorage, id: string): Promise<number | undefined> {
  for (let attempts = 0; attempts < 20; attempts++) {
    if ((await storage.getSagasForRecovery(ALL, attempts + 1)).includes(id)) return attempts;
  }
  return undefined;
}

export async function running(
  storage: SagaStorage,
  id: string,
  name: string = "order",
  context: SagaContext = {},
): Promise<void> {
  await storage.createSaga(id, name, context);
  await storage.updateStatus(id, "RUNNING");
}

export function createRun<T>(storage: SagaStorage, work: (run: SagaStorageRun) => Promise<T>): Promise<T> {
  if (!storage.createRun) {
    throw new Error("The storage has no createRun. If that is intended, pass `hasCreateRun: false`.");
  }
  return storage.createRun(work);
}
