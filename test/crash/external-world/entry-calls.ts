/**
 * The recorded calls for outbox entries: every call of a resolver, a handler or a user-defined call, and every event
 * that an external audit sink received. The checkers compare both with the tables.
 */
import type { AuditSink, KeyedAuditEvent } from "../../../src/audit/sink.ts";
import { LineFile } from "./line-file.ts";

export interface EntryCall {
  readonly phase: "begun" | "ended";
  /** The entry's id. */
  readonly key: string;
  /** `erase`, `verify`, `schedule`, `rectify` or `call`. */
  readonly method: string;
  readonly attempt: number;
  readonly isFine?: boolean;
  readonly atMs: number;
}

export class EntryCalls extends LineFile<EntryCall> {
  /** The number of calls of this method under this key so far. */
  countCalls(key: string, method: string): number {
    return this.read().filter((one) => one.phase === "begun" && one.key === key && one.method === method)
      .length;
  }
}

/** An audit sink in a file. It stores every event that it receives, also duplicates. */
export class FileSink implements AuditSink {
  readonly lines: LineFile<KeyedAuditEvent>;
  readonly #around: (write: () => void) => Promise<void>;

  /** `around` runs the write, and may have a crash point before and after it. */
  constructor(file: string, around: (write: () => void) => Promise<void>) {
    this.lines = new LineFile(file);
    this.#around = around;
  }

  append(events: readonly KeyedAuditEvent[]): Promise<void> {
    return this.#around(() => events.forEach((event) => this.lines.append(event)));
  }

  /** Each event once, in the order of its first arrival. */
  facts(): readonly KeyedAuditEvent[] {
    return [...new Map(this.lines.read().map((event) => [event.dedupeKey, event])).values()];
  }
}
