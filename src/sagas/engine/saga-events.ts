/** Publishes committed lines to readers in this process, so that they need not ask the database. */
import type { Entry } from "../../core/saga/entry.ts";
import type { SagaState } from "../../core/saga/state.ts";

export interface News {
  readonly version: number;
  readonly entry: Entry | undefined;
  readonly state: SagaState;
}

export class SagaEvents {
  readonly #readers = new Map<string, Set<(news: News) => void>>();

  subscribe(id: string, reader: (news: News) => void): () => void {
    const readers = this.#readers.get(id) ?? new Set();
    readers.add(reader);
    this.#readers.set(id, readers);
    return () => {
      readers.delete(reader);
      if (readers.size === 0) this.#readers.delete(id);
    };
  }

  publish(id: string, news: News): void {
    const readers = this.#readers.get(id);
    if (readers) for (const reader of readers) reader(news);
  }
}
