/** A storage whose process dies, or stands still, at a chosen moment. */
import type { SagaStorage, SagaStorageRun } from "amends/storage";

const READS = ["loadSagaState", "getStepHistory"] as const;
const WRITES = ["createSaga", "updateContext", "updateStatus", "logStep"] as const;
const COUNTERS = ["incrementRecoveryAttempts", "setRecoveryAttempts"] as const;

type Call = (...given: unknown[]) => Promise<unknown>;

export interface FailingStorage {
  readonly storage: SagaStorage;
  /** Resolves with its death. */
  readonly dead: Promise<void>;
  /** From now on every call is refused, as for a process whose network is gone. */
  die(): void;
  /** Dies instead of making this write, counted from 1. */
  dieAtWrite(write: number): void;
  /** From now on every call waits until `resume`. */
  pause(): void;
  resume(): void;
}

export function failing(inner: SagaStorage): FailingStorage {
  let isDead = false;
  let writes = 0;
  let lastWrite = Infinity;
  let gate: Promise<void> | undefined;
  let open: () => void = () => undefined;
  let announce: () => void = () => undefined;
  const dead = new Promise<void>((resolve) => (announce = resolve));
  const die = (): void => {
    isDead = true;
    announce();
  };
  const guard = (on: object, name: string, isWrite: boolean): [string, Call] => [
    name,
    async (...given) => {
      await gate;
      if (isWrite && (writes += 1) >= lastWrite) die();
      if (isDead) throw new Error("the process is gone");
      return (on as Record<string, Call>)[name]?.(...given);
    },
  ];
  const guarded = (on: object, reads: readonly string[], changes: readonly string[]): unknown =>
    Object.fromEntries([
      ...reads.map((name) => guard(on, name, false)),
      ...changes.map((name) => guard(on, name, true)),
    ]);
  const createRun: SagaStorage["createRun"] =
    inner.createRun &&
    ((work) => {
      const run = (own: SagaStorageRun): SagaStorageRun =>
        guarded(own, [...READS, "rollback"], [...WRITES, "commit"]) as SagaStorageRun;
      return (inner as Required<SagaStorage>).createRun((own) => work(run(own)));
    });
  const storage = guarded(inner, [...READS, "getSagasForRecovery"], [...WRITES, ...COUNTERS]) as SagaStorage;
  return {
    storage: { ...storage, ...(createRun && { createRun }) },
    dead,
    die,
    dieAtWrite: (write) => (lastWrite = write),
    pause: () => {
      gate = new Promise((resolve) => (open = resolve));
    },
    resume: () => {
      open();
      gate = undefined;
    },
  };
}
