/** The journal of sagas in a database. Starts and checkpoints go through group writers; every other statement is rare. */
import { answerInTime, type DatabaseWatch } from "../../storage/retry.ts";
import { claimCount } from "../../core/claim-token.ts";
import { AmendsError } from "../../core/errors.ts";
import type { Grant } from "../../core/start/grants.ts";
import type { LimitUsage } from "../../core/start/held.ts";
import type { Limits } from "../../core/start/limits.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import { evolve } from "../../core/saga/evolve.ts";
import type { Arrival } from "../../core/saga/steps/wait.ts";
import { renewalLimitMs } from "../../storage/claim.ts";
import {
  DatabaseReplaced,
  type Database,
  type Row,
  type Session,
  type SyncSession,
} from "../../storage/database.ts";
import { perform, performNow } from "../../storage/joins/work.ts";
import { LaneTurns } from "../../storage/lanes.ts";
import type { Sql } from "../../storage/sql.ts";
import type { Submission } from "../../storage/write/group-writer.ts";
import type { RefusedWrites } from "../../storage/write/refused-writes.ts";
import type { DutyLook } from "../../runtime/duty.ts";
import { OutcomeWriter } from "../../runtime/outcome-writer.ts";
import { flush, flushInside, type Execute, type Item } from "./flush.ts";
import { SentCheckpoint } from "./sent-checkpoint.ts";
import { Admission, type TakenRow } from "../../storage/limits/admission.ts";
import { selectUsage, USAGE } from "../../storage/limits/queries.ts";
import { insertLines } from "./line-queries.ts";
import { takeOver, withPlans } from "./claim/take-over.ts";
import { SagaReader } from "./reading.ts";
import { startingAll } from "./start/many.ts";
import {
  OPERATOR_TOKEN,
  type CheckFound,
  type Checkpoint,
  type Founded,
  type OperatorLine,
  type Journal,
  type KnownKind,
  type LogEntry,
  type NewSaga,
  type RenewedClaim,
  type SagaRecord,
} from "./journal.ts";
import type { ServedKind } from "../kinds/queries.ts";
import { ServedKinds } from "../kinds/served.ts";
import { LogScan } from "../lost/log-scan.ts";
import { DatabaseFamily } from "./family.ts";
import { tellParent } from "./family-queries.ts";
import { moveFor } from "./move-queries.ts";
import { claimSagas, LIMITED_SAGAS, renewSagas, selectLogs, selectSaga } from "./queries.ts";
import { EXECUTION, toLogEntry, toRecord } from "./rows.ts";
import { forgetInterests, selectSignals, toArrival } from "./signal-queries.ts";

export interface DatabaseJournalOptions {
  readonly db: Database;
  readonly signal?: AbortSignal;
  readonly watch?: DatabaseWatch;
  readonly onRefused?: (refused: RefusedWrites) => void;
  /** Sagas that limits by key hold back may be let go after this long. */
  readonly onHeld?: (ms: number) => void;
}

export class DatabaseJournal implements Journal {
  readonly keepsEvents = true;
  readonly #db: Database;
  /** A start may wait for another transaction that inserts the same id. Its own writer keeps checkpoints from waiting, too. */
  readonly #starts: OutcomeWriter<Item, boolean>;
  readonly #lines: OutcomeWriter<Item, boolean>;
  readonly #turns: LaneTurns = new LaneTurns();
  readonly #reader: SagaReader;
  readonly #kinds: ServedKinds;
  readonly #admission = new Admission(LIMITED_SAGAS);
  readonly #scan: LogScan;
  readonly family: DatabaseFamily;
  readonly #onHeld: (ms: number) => void;

  constructor({ db, signal, watch, onRefused, onHeld }: DatabaseJournalOptions) {
    this.#db = db;
    this.#onHeld = onHeld ?? (() => undefined);
    this.#kinds = new ServedKinds(db, (work) => this.#persist(work));
    this.#scan = new LogScan(db);
    this.#reader = new SagaReader(db, (work) => this.#persist(work));
    this.family = new DatabaseFamily(db, (work) => this.#persist(work));
    const write = (items: readonly Item[]): Promise<readonly boolean[]> => flushInEpoch(db, items);
    const options = { db, write, bytes: bytesOf, signal, watch, onRefused };
    this.#starts = new OutcomeWriter({ ...options, failFast: () => true, parallelFrom: Infinity });
    this.#lines = new OutcomeWriter(options);
  }

  get flushes(): number {
    return this.#starts.flushes + this.#lines.flushes;
  }

  create(saga: NewSaga): Promise<boolean> {
    // Refused here: the flush runs outside the caller's transaction and would wait for the caller's connection.
    this.#db.refuseInside?.();
    return this.#starts.submit({ start: saga });
  }

  createAll(sagas: readonly NewSaga[], check: CheckFound, session?: Session): Promise<readonly Founded[]> {
    const starting = (on: Session): Promise<readonly Founded[]> =>
      perform(on, startingAll(on.dialect, sagas, check, this.#db.epoch ?? 0));
    if (session) return starting(session);
    this.#db.refuseInside?.();
    return answerInTime(
      this.#db,
      this.#persist(() => this.#db.transaction(starting)),
    );
  }

  createAllNow(session: SyncSession, sagas: readonly NewSaga[], check: CheckFound): readonly Founded[] {
    return performNow(session, startingAll(session.dialect, sagas, check, this.#db.epoch ?? 0));
  }

  append(submission: Submission<Checkpoint, boolean>): void {
    this.#lines.enqueue(new SentCheckpoint(submission));
  }

  appendIn(session: Session, checkpoint: Checkpoint): Promise<boolean> {
    return this.#flushIn(session, { checkpoint });
  }

  async load(id: string, session?: Session): Promise<SagaRecord | undefined> {
    return cannotExist(id) ? undefined : this.#reader.load(id, session);
  }

  look(kinds: () => readonly KnownKind[], onPaused: (names: ReadonlySet<string>) => void): DutyLook {
    return this.#kinds.look(kinds, onPaused);
  }

  async claim(
    kinds: readonly KnownKind[],
    limit: number,
    owner: string,
    leaseMs: number,
    except: readonly string[] = [],
  ): Promise<readonly SagaRecord[]> {
    const take = (): Promise<readonly SagaRecord[]> => this.#claim(kinds, limit, owner, leaseMs, except);
    const isOld = this.#kinds.isOld;
    if (isOld) await this.#kinds.read();
    await this.#scan.passIfDue();
    const taken = await take();
    if (taken.length > 0 || isOld) return taken;
    // Nothing is due of the kinds that were open before: another process may have begun sagas with other steps.
    const count = (): number => {
      const served = this.#kinds.served(kinds);
      return served.length + this.#kinds.limitedOf(served).size;
    };
    const before = count();
    await this.#kinds.read();
    return count() > before ? take() : taken;
  }

  async #claim(
    kinds: readonly KnownKind[],
    limit: number,
    owner: string,
    leaseMs: number,
    except: readonly string[],
  ): Promise<readonly SagaRecord[]> {
    const { dialect } = this.#db;
    const served = this.#kinds.served(kinds);
    await this.#kinds.report(served);
    return this.#persist(() =>
      this.#db.transaction(async (session) => {
        const { epoch = 0 } = this.#db;
        const lanes = this.#turns.order(served.map(({ kind }) => kind));
        const take = (grants: readonly Grant[] = []): Promise<readonly Row[]> =>
          session.query(claimSagas(dialect, lanes, limit, owner, leaseMs, except, grants));
        const isLimited = this.#kinds.limitedOf(served).size > 0;
        const { rows, againMs } = isLimited
          ? await this.#admission.claim(session, kindsOf(served), limit, take, toTaken)
          : { rows: await take(), againMs: undefined };
        if (againMs !== undefined) this.#onHeld(againMs);
        if (rows.length === 0) return [];
        this.#turns.served(rows.map((row) => row["kind"] as string));
        const planned = await withPlans(session, rows, kinds);
        return (await takeOver(session, planned, owner)).map((record) => ({ ...record, epoch }));
      }),
    );
  }

  async renew(holds: readonly RenewedClaim[], leaseMs: number): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#persist(() =>
      this.#db.query(renewSagas(this.#db.dialect, holds, leaseMs), renewalLimitMs(leaseMs)),
    );
    return new Map(rows.map((row) => [row["id"] as string, Number(row["version"])]));
  }

  appendByOperator(
    id: string,
    decide: (record: SagaRecord) => OperatorLine | undefined,
    first?: (session: Session) => Promise<void>,
  ): Promise<SagaRecord> {
    // The answer to a commit may be lost. If our line is there already, `decide` is not called again.
    let sent: LogEntry | undefined;
    const isOurs = ({ id: version, token, step, details }: LogEntry): boolean =>
      version === sent?.id && token === OPERATOR_TOKEN && step === sent.step && details === sent.details;
    const decideOnce = (record: SagaRecord): OperatorLine | undefined =>
      record.entries.some(isOurs) ? undefined : decide(record);
    return this.#persist(() =>
      this.#db.transaction(async (session) => {
        const record = await this.#appendByOperatorOnce(session, id, decideOnce, first);
        sent = record.entries.at(-1);
        return record;
      }),
    );
  }

  async arrivals(id: string): Promise<readonly Arrival[]> {
    const rows = await this.#lines.outlast(() => this.#db.query(selectSignals(this.#db.dialect, id)));
    return rows.map(toArrival);
  }

  async usage(name: string, limits: Limits): Promise<LimitUsage> {
    const statement = selectUsage(this.#db.dialect, LIMITED_SAGAS, name, limits);
    const [row = {}] = await this.#persist(() => this.#db.query(statement));
    return USAGE.read(row);
  }

  drained(): Promise<void> {
    return Promise.all([this.#starts.drained(), this.#lines.drained()]).then(() => undefined);
  }

  async #appendByOperatorOnce(
    session: Session,
    id: string,
    decide: (record: SagaRecord) => OperatorLine | undefined,
    first: ((session: Session) => Promise<void>) | undefined,
  ): Promise<SagaRecord> {
    const { dialect } = session;
    const [row] = cannotExist(id) ? [] : await session.query(selectSaga(dialect, id, true));
    if (!row) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id });
    await first?.(session);
    // A worker appends lines without this lock. Its line then takes the version that this one wants, and the loop reads again.
    for (;;) {
      const lines = await session.query(selectLogs(dialect, [id]));
      const record = toRecord(row, lines.map(toLogEntry));
      const decided = decide(record);
      if (!decided) return record;
      const version = record.version + 1;
      const state = evolve(record.state, decided.entry);
      const line = { sagaId: id, version, token: OPERATOR_TOKEN, entry: decided.entry };
      const written = await session.query(insertLines(dialect, [line]));
      if (written.length === 0) continue;
      const running = record.owner !== undefined && state.status === record.state.status;
      const { status: from } = record.state;
      const { keepsGate = false } = decided;
      await session.query(moveFor(dialect, { id, version, from, state, running, keepsGate }));
      if (sagaMachine.isTerminal(state.status)) {
        await session.query(forgetInterests(dialect, [id]));
        const { parent } = record;
        if (parent) for (const tell of tellParent(dialect, id, parent.id)) await session.query(tell);
      }
      const notice = dialect.notify();
      if (notice) await session.query(notice);
      const added = { ...decided.entry, id: version, token: OPERATOR_TOKEN, atMs: record.nowMs };
      return { ...record, version, state, entries: [...record.entries, added] };
    }
  }

  async #flushIn(session: Session, item: Item): Promise<boolean> {
    if (isStale(item, this.#db.epoch ?? 0)) return false;
    const [done] = await flushInside(session.dialect, inTurn(session), [item]);
    return done === true;
  }

  #persist<T>(work: () => Promise<T>): Promise<T> {
    return this.#lines.persist(work);
  }
}

function kindsOf(served: readonly ServedKind[]): ReadonlySet<string> {
  return new Set(served.map(({ kind }) => kind));
}

function toTaken(row: Row): TakenRow {
  const { name, limits } = EXECUTION.shape;
  return {
    name: name.read(row[name.name]),
    limits: limits.read(row[limits.name]),
    isFirst: claimCount(Number(row["token"])) === 1,
  };
}

/** A checkpoint of an earlier epoch is refused: its saga is read again before anything more is written. */
async function flushInEpoch(db: Database, items: readonly Item[]): Promise<readonly boolean[]> {
  const { epoch = 0 } = db;
  const current = items.every((item) => !isStale(item, epoch))
    ? items
    : items.filter((item) => !isStale(item, epoch));
  try {
    const answers =
      current.length === 0
        ? []
        : await flush(db.dialect, (statements) => db.batch(statements, epoch), current);
    if (current === items) return answers;
    const written = new Map(current.map((item, index) => [item, answers[index] === true]));
    return items.map((item) => written.get(item) ?? false);
  } catch (error) {
    if (!(error instanceof DatabaseReplaced)) throw error;
    return flushInEpoch(db, items);
  }
}

function isStale(item: Item, epoch: number): boolean {
  return "checkpoint" in item && item.checkpoint.epoch !== epoch;
}

/** PostgreSQL refuses any comparison with such a text. */
function cannotExist(id: string): boolean {
  return id.includes("\0");
}

function bytesOf(item: Item): number {
  if ("start" in item) return item.start.input.length + 200;
  const { entry, more } = item.checkpoint;
  let bytes = (entry.details?.length ?? 0) + 200;
  if (more) for (const { details } of more) bytes += (details?.length ?? 0) + 200;
  return bytes;
}

function inTurn(session: Pick<Session, "query">): Execute {
  return async (statements: readonly Sql[]) => {
    const results: (readonly Row[])[] = [];
    for (const statement of statements) results.push(await session.query(statement));
    return results;
  };
}
