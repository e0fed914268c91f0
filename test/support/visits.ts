/**
 * What entries of the outbox led to in the outside world: every call of a resolver or of a user's own, and every event
 * that was told to an audit sink of the user's own. The checker of the outbox holds both against the books.
 */
import type { AuditSink, KeyedAuditEvent } from "../../src/audit/sink.ts";
import { LineFile } from "./line-file.ts";

export interface Visit {
  readonly phase: "begun" | "ended";
  /** The entry's id. */
  readonly key: string;
  /** `erase`, `verify`, `schedule`, `rectify` or `call`. */
  readonly method: string;
  readonly attempt: number;
  readonly isFine?: boolean;
  readonly atMs: number;
}

export class Visits extends LineFile<Visit> {
  /** How often the world was asked under this key so far. */
  calls(key: string, method: string): number {
    return this.read().filter((one) => one.phase === "begun" && one.key === key && one.method === method)
      .length;
  }
}

/** An audit sink in a file. It takes every event that it is given, as often as it is given it. */
export class FileSink implements AuditSink {
  readonly lines: LineFile<KeyedAuditEvent>;
  readonly #around: (write: () => void) => Promise<void>;

  /** `around` runs the writing, and may stop before and after it. */
  constructor(file: string, around: (write: () => void) => Promise<void>) {
    this.lines = new LineFile(file);
    this.#around = around;
  }

  append(events: readonly KeyedAuditEvent[]): Promise<void> {
    return this.#around(() => events.forEach((event) => this.lines.append(event)));
  }

  /** Each fact once, in the order in which it was first told. */
  facts(): readonly KeyedAuditEvent[] {
    return [...new Map(this.lines.read().map((event) => [event.dedupeKey, event])).values()];
  }
}
