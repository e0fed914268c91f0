/**
 * Puts a request on record. What became true in the caller's transaction is told in it, so that a rollback takes it
 * back. That a request was made and failed is true whatever becomes of that transaction: it is told outside of it, on
 * a connection of our own, after the call has returned. Nobody waits for that connection, so a caller who holds the
 * only one cannot be kept waiting for ever; on SQLite the note waits until the caller's transaction is over.
 */
import { AsyncResource } from "node:async_hooks";
import type { NewAuditEvent } from "../audit/event.ts";
import type { TransactionalSink } from "../audit/sink.ts";
import { writeOnce } from "../storage/write/checked-write.ts";
import type { Session } from "../storage/database.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import { findNote, noteFailure, type Failure } from "./queries.ts";

export class Recorder {
  readonly #host: PartContext;
  readonly #sink: TransactionalSink;
  readonly #notes: Set<Promise<void>> = new Set();
  /** Notes are written outside of the transaction that the caller may be in, also for whoever looks for that. */
  readonly #outside: AsyncResource = new AsyncResource("amends.erasure");

  constructor(host: PartContext, sink: TransactionalSink) {
    this.#host = host;
    this.#sink = sink;
  }

  /** In the caller's transaction. */
  tell(session: Session, events: readonly NewAuditEvent[]): Promise<void> {
    return this.#sink.appendIn(session, events);
  }

  /** Outside of it, in its own time. */
  note(events: readonly NewAuditEvent[], failure: Failure): void {
    const note = this.#outside.runInAsyncScope(() => this.#write(events, failure));
    this.#notes.add(note);
    void note.finally(() => this.#notes.delete(note));
  }

  /** Resolves once every note so far is written. */
  async noted(): Promise<void> {
    await Promise.all(this.#notes);
  }

  async #write(events: readonly NewAuditEvent[], failure: Failure): Promise<void> {
    const host = this.#host;
    const { database } = host;
    // The caller's rollback comes first: it is waiting for the call that failed, not for this.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    const noteId = host.newId();
    const note = {
      write: async (session: Session): Promise<true> => {
        await session.query(noteFailure(session.dialect, noteId, failure));
        await this.tell(session, events);
        return true;
      },
      findWritten: async (session: Session): Promise<true | undefined> => {
        const found = await session.query(findNote(session.dialect, noteId, failure.subjectId));
        return found.length > 0 ? true : undefined;
      },
    };
    try {
      await writeOnce(database, note, {
        ...retryLimitsOf(host),
        attemptMax: Number.POSITIVE_INFINITY,
      });
    } catch {
      const { subjectId, label } = failure;
      host.warn({ subjectId, error: label }, "amends: a request failed, and that could not be put on record");
    }
  }
}
