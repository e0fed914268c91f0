/** Work whose result Restate records: at a replay the record is read and the work is not done. */
import type { Durable, RunContext } from "../sdk.ts";

export interface Made<T> {
  readonly value: T;
  /** This attempt did the work; otherwise the record was replayed. */
  readonly isMade: boolean;
}

export function recorded<T>(context: RunContext, name: string, work: () => Promise<T>): Durable<Made<T>> {
  let isMade = false;
  const record = context.run(name, () => {
    isMade = true;
    return work();
  });
  return record.map((value, failure) => {
    if (failure) throw failure;
    return { value: value as T, isMade };
  });
}
