/** A process that is gone at a chosen call to the database: before it takes effect, or after, when its answer is lost. */
import type { Database } from "../../../src/storage/database.ts";

export interface Mortal {
  readonly database: Database;
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>;
  /** The calls that it has made. */
  readonly calls: () => number;
}

const forEver = (): Promise<never> => new Promise<never>(() => undefined);

/** `dieAt` counts from 0; `Infinity` is a process that lives. */
export function mortal(inner: Database, dieAt: number, when: "before" | "after"): Mortal {
  let calls = 0;
  let isGone = false;
  let die: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => (die = resolve));
  const fall = (): Promise<never> => {
    isGone = true;
    die();
    return forEver();
  };
  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isGone) return forEver();
    const isLast = calls++ === dieAt;
    if (isLast && when === "before") return fall();
    const answer = await work();
    return isLast || isGone ? fall() : answer;
  };
  const { callMs: _, ...facts } = { ...inner, callMs: undefined };
  const database: Database = {
    ...facts,
    dialect: inner.dialect,
    clock: inner.clock,
    open: () => inner.open(),
    query: (statement, limitMs) => call(() => inner.query(statement, limitMs)),
    batch: (statements, epoch) => call(() => inner.batch(statements, epoch)),
    transaction: (work, foreign) => call(() => inner.transaction(work, foreign)),
    join: (tx) => inner.join(tx),
    close: async () => undefined,
  };
  return { database, gone, calls: () => calls };
}
