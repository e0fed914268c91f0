/**
 * Records requests in the audit trail. Events of a successful request are written in the caller's transaction, so a
 * rollback discards them. The failure of a request must be recorded even if that transaction rolls back, so it is
 * written on a separate connection after the call has returned. The caller does not wait for this connection, which
 * avoids a deadlock with a caller that holds the only one; on SQLite the note waits until the caller's transaction
 * has ended.
 */
import { AsyncResource } from "node:async_hooks";
import type { NewAuditEvent } from "../audit/event.ts";
import { appending, type TransactionalSink } from "../audit/sink.ts";
import { writeOnce } from "../storage/write/checked-write.ts";
import type { Dialect, Session } from "../storage/database.ts";
import type { Work } from "../storage/joins/work.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import { findNote, noteFailure, type Failure } from "./queries.ts";

export class Recorder {
  readonly #host: PartContext;
  readonly #sink: TransactionalSink;
  readonly #notes: Set<Promise<void>> = new Set();
  /** Runs notes outside of the caller's async context, so that they do not join the caller's transaction. */
  readonly #outside: AsyncResource = new AsyncResource("amends.erasure");

  constructor(host: PartContext, sink: TransactionalSink) {
    this.#host = host;
    this.#sink = sink;
  }

  /** In the caller's transaction. */
  tell(dialect: Dialect, events: readonly NewAuditEvent[]): Work<void> {
    return appending(this.#sink, dialect, events);
  }

  /** Outside of the caller's transaction, asynchronously. */
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
    // Lets the caller roll back first: the caller waits for the failed call, not for this note.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    const noteId = host.newId();
    const note = {
      write: async (session: Session): Promise<true> => {
        await session.query(noteFailure(session.dialect, noteId, failure));
        await this.#sink.appendIn(session, events);
        return true;
      },
      findWritten: async (session: Session): Promise<true | undefined> => {
        const found = await session.query(findNote(session.dialect, noteId, failure.subjectId));
        return found.length > 0 ? true : undefined;
      },
    };
    try {
      await writeOnce(database, note, {
        ...retryLimitsOf(host, "record an erasure"),
        attemptMax: Number.POSITIVE_INFINITY,
      });
    } catch {
      const { subjectId, label } = failure;
      host.warn(
        { subjectId, error: label },
        "amends: a request failed, and its failure could not be recorded",
      );
    }
  }
}
