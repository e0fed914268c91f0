/**
 * The workers' access to outbox entries of any kind: claim, renew, settle. Settlements of many claims share
 * commits. A claim is one statement and one commit for up to `limit` entries.
 */
import type { OutboxKind } from "../core/outbox/entry.ts";
import { lookFor, type DutyLook } from "../runtime/duty.ts";
import { OutcomeWriter } from "../runtime/outcome-writer.ts";
import type { PartContext } from "../runtime/part.ts";
import { renewalLimitMs } from "../storage/claim.ts";
import type { Database, Dialect, Row, Session } from "../storage/database.ts";
import type { Sql } from "../storage/sql.ts";
import { untilErasureDue, untilLaneDue } from "./look-queries.ts";
import {
  claimEntries,
  idOf,
  noteRunning,
  renewEntries,
  uncountAttempt,
  type ClaimOptions,
} from "./queries.ts";
import type { EntryTable, HeldEntry } from "./rows.ts";
import { settle, type Settled, type Settlement } from "./settle.ts";

const SETTLEMENT_BYTES = 300;

export class OutboxWriter {
  readonly #db: Database;
  readonly #outcomes: OutcomeWriter<Settlement, Settled>;

  constructor(host: Pick<PartContext, "database" | "closing" | "watch" | "onRefused">) {
    const { database } = host;
    this.#db = database;
    this.#outcomes = new OutcomeWriter<Settlement, Settled>({
      db: database,
      write: (settlements) => settle(database, settlements),
      bytes: () => SETTLEMENT_BYTES,
      signal: host.closing,
      watch: host.watch("write outbox"),
      onRefused: (refused) => host.onRefused("outbox", refused),
      failFast: ({ failFast }) => failFast === true,
    });
  }

  get dialect(): Dialect {
    return this.#db.dialect;
  }

  /** The number of commits of settlements. */
  get flushes(): number {
    return this.#outcomes.flushes;
  }

  /** Claims entries that are due. */
  async claim<Entry>(of: EntryTable<Entry>, options: ClaimOptions): Promise<readonly Entry[]> {
    const rows = await this.#outcomes.query(claimEntries(this.#db.dialect, of, options));
    return rows.map((row) => of.read(row));
  }

  /** What the worker's look reads for claims with these options. */
  look(kind: OutboxKind, names: (() => readonly string[]) | undefined): DutyLook {
    const { dialect } = this.#db;
    return lookFor(() => {
      if (kind === "erasure") return untilErasureDue(dialect);
      const known = names?.() ?? [];
      return known.length > 0 ? untilLaneDue(dialect, "call", known) : undefined;
    });
  }

  /** Runs a claim that is more than one statement, in one transaction. */
  inTransaction<T>(claim: (session: Session) => Promise<T>): Promise<T> {
    return this.#outcomes.persist(() => this.#db.transaction(claim));
  }

  query(statement: Sql): Promise<readonly Row[]> {
    return this.#outcomes.query(statement);
  }

  /** Returns the ids whose claims still hold. */
  async renew(held: readonly HeldEntry[], leaseMs: number): Promise<ReadonlySet<string>> {
    const statement = renewEntries(this.#db.dialect, held, leaseMs);
    const rows = await this.#outcomes.query(statement, renewalLimitMs(leaseMs));
    return new Set(rows.map(idOf));
  }

  /** Marks the entry of a last attempt that has not returned. The entry stays claimed. */
  async noteRunning({ entryId, token }: HeldEntry): Promise<void> {
    await this.#outcomes.query(noteRunning(this.#db.dialect, entryId, token));
  }

  /** Takes back the attempt of a claim whose outcome could not be recorded. The entry stays claimed. */
  async uncount({ entryId, token, attempts }: HeldEntry & { readonly attempts: number }): Promise<void> {
    await this.#outcomes.query(uncountAttempt(this.#db.dialect, entryId, token, attempts));
  }

  settle(settlement: Settlement): Promise<Settled> {
    return this.#outcomes.submit(settlement);
  }

  drained(): Promise<void> {
    return this.#outcomes.drained();
  }
}
