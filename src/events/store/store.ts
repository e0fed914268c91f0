/** Runs and deliveries in a database. Publications and outcomes share commits; the other operations are rare. */
import { AmendsError } from "../../core/errors.ts";
import type { DatabaseWatch } from "../../storage/retry.ts";
import { SUPERSEDED } from "../../core/outbox/machine.ts";
import {
  claimDeliveries,
  renewDeliveries,
  selectHeld,
  selectSettled,
  type KnownEvents,
} from "../../outbox/deliveries/claim-queries.ts";
import { untilDeliveryDue } from "../../outbox/deliveries/look-queries.ts";
import {
  CLAIMED_DELIVERY,
  type ClaimedDelivery,
  type DeliveryClaim,
  type DeliveryRow,
  type NewDelivery,
} from "../../outbox/deliveries/row.ts";
import { idOf, knownIds } from "../../outbox/queries.ts";
import { OutcomeWriter } from "../../runtime/outcome-writer.ts";
import { readTraceparent, sagaTraceparent } from "../../runtime/trace.ts";
import { renewalLimitMs } from "../../storage/claim.ts";
import type { Database, Dialect, Row, Session, SyncSession } from "../../storage/database.ts";
import { LaneTurns } from "../../storage/lanes.ts";
import type { RefusedWrites } from "../../storage/write/refused-writes.ts";
import type { Sql } from "../../storage/sql.ts";
import type { Delivery, Fanout, Move, Outcome, RunRecord } from "../run/outcome.ts";
import {
  trailOf,
  publishStatements,
  writeInside,
  writeTogether,
  type WriteAnswer,
  type WriteItem,
  type WriteTools,
} from "./outcome-writer.ts";
import { placeOf } from "../subscriptions/queries.ts";
import { moveRuns, selectRuns, selectRunsOf } from "./run-queries.ts";
import { STORED_RUN, toRun } from "./run-row.ts";
import { saveStates, type SagaStore } from "./saga-store.ts";

const NO_CLAIMS: readonly NewDelivery[] = [];

export interface FlowStoreOptions {
  readonly db: Database;
  readonly leaseMs: number;
  readonly signal: AbortSignal;
  readonly watch: DatabaseWatch;
  readonly onRefused?: (refused: RefusedWrites) => void;
  /** The application's own store of states, which is written in the same transactions. */
  readonly own?: SagaStore | undefined;
}

/** Rolls back a transaction whose claim was lost or whose run has changed. */
class NotWritten extends Error {}

export class FlowStore {
  readonly #db: Database;
  readonly #own: SagaStore | undefined;
  readonly #leaseMs: number;
  readonly #tools: WriteTools;
  readonly #writer: OutcomeWriter<WriteItem, WriteAnswer>;
  readonly #turns: LaneTurns = new LaneTurns();

  constructor({ db, leaseMs, signal, watch, onRefused, own }: FlowStoreOptions) {
    this.#db = db;
    this.#own = own;
    this.#leaseMs = leaseMs;
    this.#tools = { dialect: db.dialect, leaseMs, execute: (statements) => db.batch(statements) };
    this.#writer = new OutcomeWriter<WriteItem, WriteAnswer>({
      db,
      write: (items) => this.#write(items),
      bytes: bytesOf,
      signal,
      watch,
      onRefused,
      // A caller waits for a publication, but not for an outcome.
      failFast: ({ outcome }) => outcome === undefined,
    });
  }

  /** The number of commits. */
  get flushes(): number {
    return this.#writer.flushes;
  }

  get dialect(): Dialect {
    return this.#db.dialect;
  }

  drained(): Promise<void> {
    return this.#writer.drained();
  }

  /** Writes rows, and the runs that they begin. */
  publish(out: Fanout, claims: readonly NewDelivery[] = NO_CLAIMS): Promise<WriteAnswer> {
    return this.#writer.submit({ outcome: undefined, out, claims });
  }

  /** The same in a transaction that is open already. */
  async publishIn(session: Session, out: Fanout, tx: unknown): Promise<void> {
    const item = { outcome: undefined, out, claims: NO_CLAIMS };
    await writeInside(this.#inside(session), item);
    await this.#saveOwn(session, tx, item);
  }

  /** The same in a synchronous transaction. A store of one's own is asynchronous. */
  publishNow(session: SyncSession, out: Fanout): void {
    if (this.#own) {
      throw new AmendsError(
        "NOT_SUPPORTED",
        "A store of your own saves asynchronously, and a synchronous transaction cannot wait for it. Publish in an asynchronous transaction.",
      );
    }
    const tools = { dialect: session.dialect, leaseMs: this.#leaseMs };
    for (const statement of publishStatements(tools, out)) session.query(statement);
  }

  settle(outcome: Outcome, claims: readonly NewDelivery[] = NO_CLAIMS): Promise<WriteAnswer> {
    return this.#writer.submit({ outcome, out: outcome.out, claims });
  }

  /** Writes in an open transaction. If the answer says that nothing is written, the caller must roll back. */
  async settleIn(
    session: Session,
    outcome: Outcome,
    claims: readonly NewDelivery[],
    tx: unknown,
  ): Promise<WriteAnswer> {
    const item = { outcome, out: outcome.out, claims };
    const answer = await writeInside(this.#inside(session), item);
    if (answer.isWritten) await this.#saveOwn(session, tx, item);
    return answer;
  }

  /**
   * Supersedes an unclaimed delivery and updates its run. False if either has changed. Two processes may supersede the
   * same delivery under the same token, so the token does not say which of them did: what a refused one sends is rolled
   * back.
   */
  supersede(delivery: DeliveryClaim, error: string, move: Move, out: Fanout): Promise<boolean> {
    const outcome = { delivery, to: SUPERSEDED, error, move, out };
    const ids = out.rows.map(({ id }) => id);
    let isSent = false;
    return this.#writer.persist(async () => {
      try {
        await this.#db.transaction(async (session, tx) => {
          // Our own commit, whose answer was lost: only this call knows these ids.
          if (isSent && (await session.query(knownIds(session.dialect, ids))).length > 0) return;
          isSent = true;
          const { isWritten } = await this.settleIn(session, outcome, NO_CLAIMS, tx);
          if (!isWritten) throw new NotWritten();
        }, this.#own !== undefined);
        return true;
      } catch (thrown) {
        if (thrown instanceof NotWritten) return false;
        throw thrown;
      }
    });
  }

  /** Updates a run regardless of its deliveries. False if the run has changed. */
  move(move: Move, out: Fanout): Promise<boolean> {
    const moves = [{ cause: undefined, move, trail: trailOf(move, out) }];
    return this.#writer.persist(() =>
      this.#db.transaction(async (session, tx) => {
        const moved = await session.query(moveRuns(session.dialect, moves, false));
        if (moved.length === 0) return false;
        await this.publishIn(session, out, tx);
        if (this.#own) await saveStates(this.#own, session, tx, [move.run.sagaId]);
        return true;
      }, this.#own !== undefined),
    );
  }

  /** The milliseconds until the first delivery of these may be claimed, as an expression; undefined if none is known here. */
  untilDue(known: KnownEvents): Sql | undefined {
    const { deliverable, routable } = known;
    if (deliverable.length === 0 && routable.length === 0) return undefined;
    return untilDeliveryDue(this.dialect, known);
  }

  /** Deliveries that are due, each with the run that waits for it. */
  async claim(
    known: KnownEvents,
    limit: number,
    except: readonly string[] = [],
  ): Promise<readonly Delivery[]> {
    const fair = { deliverable: this.#turns.order(known.deliverable), routable: known.routable };
    const rows = await this.#writer.query(
      claimDeliveries(this.dialect, fair, limit, this.#leaseMs, except, placeOf(this.dialect)),
    );
    const claimed = rows.map((row) => CLAIMED_DELIVERY.read(row));
    this.#turns.served(claimed.map(({ lane }) => lane));
    const ids = claimed.flatMap(({ handler, sagaId }) => (handler === undefined || !sagaId ? [] : [sagaId]));
    const runs = ids.length === 0 ? NO_RUNS : await this.runs(ids);
    return claimed.map((row) => toDelivery(row, runs.get(row.sagaId ?? "")));
  }

  /** Returns the ids whose claims still hold. */
  async renew(held: readonly DeliveryClaim[]): Promise<ReadonlySet<string>> {
    if (held.length === 0) return new Set();
    const statement = renewDeliveries(this.dialect, held, this.#leaseMs);
    const rows = await this.#writer.query(statement, renewalLimitMs(this.#leaseMs));
    return new Set(rows.map(idOf));
  }

  async isHeld(delivery: DeliveryClaim): Promise<boolean> {
    return (await this.#writer.query(selectHeld(this.dialect, delivery))).length > 0;
  }

  async isSettled(delivery: DeliveryClaim): Promise<boolean> {
    return (await this.#writer.query(selectSettled(this.dialect, delivery))).length > 0;
  }

  async runs(sagaIds: readonly string[]): Promise<ReadonlyMap<string, RunRecord>> {
    const rows = await this.#writer.query(selectRuns(this.dialect, sagaIds));
    const hereMs = this.#db.clock.monotonicMs();
    // An invalid row (edited by hand) must not stop the others.
    const runs = rows.flatMap((row) => STORED_RUN.tryRead(row) ?? []);
    return new Map(runs.map((run) => [run.sagaId, toRun(run, hereMs)]));
  }

  /** The newest run of a process. */
  async newestRun(sagaType: string, processId: string): Promise<RunRecord | undefined> {
    const [row] = await this.#writer.query(selectRunsOf(this.dialect, sagaType, processId, 1));
    return row && toRun(STORED_RUN.read(row), this.#db.clock.monotonicMs());
  }

  query(statement: Sql): Promise<readonly Row[]> {
    return this.#writer.query(statement);
  }

  async #write(items: readonly WriteItem[]): Promise<readonly WriteAnswer[]> {
    if (!this.#own) return writeTogether(this.#tools, items);
    const answers: WriteAnswer[] = [];
    for (const item of items) answers.push(await this.#writeWithOwn(item));
    return answers;
  }

  /** With a store of one's own, each item is a transaction of its own, and follow-up rows are claimed later. */
  async #writeWithOwn({ outcome, out }: WriteItem): Promise<WriteAnswer> {
    const item = { outcome, out, claims: NO_CLAIMS };
    try {
      return await this.#db.transaction(async (session, tx) => {
        const answer = await writeInside(this.#inside(session), item);
        if (!answer.isWritten) throw new NotWritten();
        await this.#saveOwn(session, tx, item);
        return answer;
      }, true);
    } catch (error) {
      if (!(error instanceof NotWritten)) throw error;
      // An earlier commit, whose answer was lost, may have written it.
      const rows = outcome && (await this.#db.query(selectSettled(this.dialect, outcome.delivery)));
      return { isWritten: rows !== undefined && rows.length > 0, claimed: new Map(), hasMore: true };
    }
  }

  /** Saves the runs that the item begins, and the run that it changes. A retry changes no state. */
  async #saveOwn(session: Session, tx: unknown, { outcome, out }: WriteItem): Promise<void> {
    if (!this.#own) return;
    const { move } = outcome ?? {};
    const moved = move && move.state !== move.run.state ? [move.run.sagaId] : [];
    await saveStates(this.#own, session, tx, [...moved, ...out.runs.map(({ sagaId }) => sagaId)]);
  }

  #inside(session: Session): WriteTools {
    return { ...this.#tools, dialect: session.dialect, execute: (statements) => inTurn(session, statements) };
  }
}

const NO_RUNS: ReadonlyMap<string, RunRecord> = new Map();

export function toDelivery(row: DeliveryRow & Partial<ClaimedDelivery>, run?: RunRecord): Delivery {
  // An event that a saga of steps emitted belongs to the trace of that saga.
  const trace =
    readTraceparent(row.trace) ?? (row.sagaId === undefined ? undefined : sagaTraceparent(row.sagaId));
  return { answer: undefined, place: undefined, ...row, run, trace };
}

async function inTurn(session: Session, statements: readonly Sql[]): Promise<readonly (readonly Row[])[]> {
  const results: (readonly Row[])[] = [];
  for (const statement of statements) results.push(await session.query(statement));
  return results;
}

function bytesOf({ out }: WriteItem): number {
  return out.rows.reduce((sum, { payload }) => sum + payload.length + 200, 200);
}
