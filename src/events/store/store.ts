/** Runs and deliveries in a database: outcomes travel through the group writer, everything else is rare. */
import { renewalLimitMs } from "../../storage/claim.ts";
import type { Database, Dialect, Row, Session } from "../../storage/database.ts";
import type { Sql } from "../../storage/sql.ts";
import { OutcomeWriter } from "../../runtime/outcome-writer.ts";
import type { Delivery, NewRow, RunRecord, Settlement } from "../run/delivery.ts";
import { claimDeliveries, renewDeliveries, selectRunOf, selectRuns, type Known } from "./queries.ts";
import { toDelivery, toRun } from "./rows.ts";
import { settleTogether, type Item, type Settled } from "./settle.ts";

const NO_CLAIMS: readonly NewRow[] = [];

export interface SagaStoreOptions {
  readonly db: Database;
  readonly leaseMs: number;
  readonly signal: AbortSignal;
  readonly onTrouble: (error: unknown, attempt: number) => void;
}

export class SagaStore {
  readonly #db: Database;
  readonly #leaseMs: number;
  readonly #writer: OutcomeWriter<Item, Settled>;

  constructor({ db, leaseMs, signal, onTrouble }: SagaStoreOptions) {
    this.#db = db;
    this.#leaseMs = leaseMs;
    this.#writer = new OutcomeWriter<Item, Settled>({
      db,
      write: (items) => settleTogether(db.dialect, batched(db), items, leaseMs, true),
      bytes: bytesOf,
      signal,
      onTrouble,
      // A publication has somebody who waits for it; an outcome has not.
      failFast: ({ settlement }) => settlement.delivery === undefined,
    });
  }

  get flushes(): number {
    return this.#writer.flushes;
  }

  get dialect(): Dialect {
    return this.#db.dialect;
  }

  drained(): Promise<void> {
    return this.#writer.drained();
  }

  settle(settlement: Settlement, claims: readonly NewRow[] = NO_CLAIMS): Promise<Settled> {
    return this.#writer.submit({ settlement, claims });
  }

  /** In a transaction that is open already. Whoever is refused must roll it back. */
  async settleIn(
    session: Session,
    settlement: Settlement,
    claims: readonly NewRow[] = NO_CLAIMS,
  ): Promise<Settled> {
    const item = { settlement, claims };
    const [settled] = await settleTogether(session.dialect, inTurn(session), [item], this.#leaseMs, false);
    return settled as Settled;
  }

  /** One outcome in a transaction of its own: true where it holds. */
  async steer(settlement: Settlement): Promise<boolean> {
    const refused = Symbol("refused");
    try {
      await this.#writer.persist(() =>
        this.#db.transaction(async (session) => {
          const { applied } = await this.settleIn(session, settlement);
          if (!applied) throw new Refused(refused);
        }),
      );
      return true;
    } catch (error) {
      const cause = error instanceof Refused ? error : (error as { cause?: unknown } | undefined)?.cause;
      if (cause instanceof Refused && cause.mark === refused) return false;
      throw error;
    }
  }

  /** Deliveries that are due, each with the run that waits for it. */
  async claim(known: Known, limit: number, except: readonly string[] = []): Promise<readonly Delivery[]> {
    const rows = await this.#writer.query(
      claimDeliveries(this.#db.dialect, known, limit, this.#leaseMs, except),
    );
    const claimed = rows.map(toDelivery);
    const ids = claimed.flatMap(({ handler, sagaId }) => (handler === undefined || !sagaId ? [] : [sagaId]));
    if (ids.length === 0) return claimed;
    const runs = await this.runs(ids);
    return claimed.map((one) => ({
      ...one,
      run: one.sagaId === undefined ? undefined : runs.get(one.sagaId),
    }));
  }

  async renew(held: readonly Delivery[]): Promise<ReadonlySet<string>> {
    if (held.length === 0) return new Set();
    const statement = renewDeliveries(this.#db.dialect, held, this.#leaseMs);
    const rows = await this.#writer.query(statement, renewalLimitMs(this.#leaseMs));
    return new Set(rows.map((row) => row["entry_id"] as string));
  }

  async runs(sagaIds: readonly string[]): Promise<ReadonlyMap<string, RunRecord>> {
    const rows = await this.#writer.query(selectRuns(this.#db.dialect, sagaIds));
    const hereMs = this.#db.clock.monotonicMs();
    return new Map(rows.map((row) => [row["saga_id"] as string, toRun(row, hereMs)]));
  }

  /** The newest run of a process. */
  async get(sagaType: string, processId: string): Promise<RunRecord | undefined> {
    const [row] = await this.#writer.query(selectRunOf(this.#db.dialect, sagaType, processId));
    return row && toRun(row, this.#db.clock.monotonicMs());
  }

  query(statement: Sql): Promise<readonly Row[]> {
    return this.#writer.query(statement);
  }
}

/** Rolls the transaction back. */
class Refused extends Error {
  readonly mark: symbol;

  constructor(mark: symbol) {
    super("refused");
    this.mark = mark;
  }
}

type Execute = (statements: readonly Sql[]) => Promise<readonly (readonly Row[])[]>;

function batched(db: Database): Execute {
  return async (statements) => (statements.length === 0 ? [] : db.batch(statements));
}

export function inTurn(session: Pick<Session, "query">): Execute {
  return async (statements) => {
    const results: (readonly Row[])[] = [];
    for (const statement of statements) results.push(await session.query(statement));
    return results;
  };
}

function bytesOf({ settlement: { out } }: Item): number {
  return out.rows.reduce((sum, { payload }) => sum + payload.length + 200, 200);
}
