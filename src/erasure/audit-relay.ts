/**
 * Delivers audit events to a sink outside the database. The transaction that makes the events true writes them into
 * the outbox, so a rollback discards them. After the commit they are delivered in order, at least once, with stable
 * dedupe keys. A failing sink is retried without limit: no event is ever abandoned.
 */
import type { NewAuditEvent } from "../audit/event.ts";
import type { AuditSink, KeyedAuditEvent, YieldingSink } from "../audit/sink.ts";
import { DEFAULT_LEASE_MS, delayMs, type Backoff } from "../core/backoff.ts";
import { errorLabel } from "../core/errors.ts";
import { entryPool, type ClaimedEntry } from "../outbox/entry-pool.ts";
import type { OutboxWriter } from "../outbox/outcome-writer.ts";
import { insertEntries } from "../outbox/queries.ts";
import { CLAIMED_CALL, type ClaimedCall } from "../outbox/rows.ts";
import type { Dialect, Session } from "../storage/database.ts";
import { perform, type Work } from "../storage/joins/work.ts";
import type { LeasePool } from "../runtime/lease-pool.ts";
import { COMMIT_SOON_MS } from "../runtime/duty.ts";
import type { PartContext } from "../runtime/part.ts";

/** Names with `$` are Amends' own. */
const NAME = "$audit";
const SCHEDULE: Backoff = { baseMs: 1_000, capMs: 60_000, factor: 2 };

export class AuditRelay implements YieldingSink {
  readonly duty: LeasePool<ClaimedEntry<ClaimedCall>>;
  readonly #sink: AuditSink;
  readonly #writer: OutboxWriter;
  readonly #host: PartContext;

  constructor(host: PartContext, writer: OutboxWriter, sink: AuditSink, leaseMs: number = DEFAULT_LEASE_MS) {
    this.#host = host;
    this.#writer = writer;
    this.#sink = sink;
    this.duty = entryPool({
      name: "outbox:audit-relay",
      kind: "call",
      table: CLAIMED_CALL,
      lanes: { names: () => [NAME], of: (row) => row.name },
      host,
      writer,
      leaseMs,
      run: (row) => this.#deliver(row),
    });
  }

  async appendIn(session: Session, events: readonly NewAuditEvent[]): Promise<void> {
    await perform(session, this.appending(session.dialect, events));
  }

  *appending(dialect: Dialect, events: readonly NewAuditEvent[]): Work<void> {
    const id = this.#host.newId();
    const keyed = events.map((event, at) => ({ ...event, dedupeKey: `${id}:${at}:${event.type}` }));
    if (events.length === 0) return;
    const entry = { entryId: id, kind: "call", name: NAME, payload: JSON.stringify(keyed) } as const;
    yield insertEntries(dialect, [entry], undefined);
    this.duty.dueIn(COMMIT_SOON_MS);
  }

  async #deliver({ entryId, token, payload, attempts }: ClaimedCall): Promise<void> {
    const claim = { entryId, token };
    try {
      await this.#sink.append(JSON.parse(payload ?? "null") as KeyedAuditEvent[]);
    } catch (error) {
      const label = errorLabel(error);
      const waitMs = delayMs(SCHEDULE, attempts);
      this.#host.warn({ entryId, error: label }, "amends: the audit sink failed; trying again later");
      await this.#writer.settle({ ...claim, event: "fail", waitMs, error: label });
      this.duty.dueIn(waitMs);
      return;
    }
    await this.#writer.settle({ ...claim, event: "succeed" });
  }
}
