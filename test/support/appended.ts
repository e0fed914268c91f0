/** Appends a checkpoint to a journal as the engine does, for tests that wait for the answer. */
import type { Checkpoint, Journal } from "../../src/sagas/journal/journal.ts";

export function appended(journal: Pick<Journal, "append">, checkpoint: Checkpoint): Promise<boolean> {
  return new Promise((resolve, reject) => {
    journal.append({ item: checkpoint, written: resolve, failed: reject });
  });
}
