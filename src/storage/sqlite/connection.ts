/**
 * SQLite behind the database port. One connection, one writer at a time: statements run on the calling thread, and
 * a transaction that waits for application code (a transactional step) makes all other work queue. The settings
 * that durability and erasure depend on are set and then read back, because SQLite silently ignores unsupported
 * settings.
 */
import { AmendsError, closedError } from "../../core/errors.ts";
import { CLOSE_MS, sleep, within, type Clock } from "../clock.ts";
import type { Database, Dialect, JoinedSession, Row, Session, SyncSession } from "../database.ts";
import { Holds } from "../joins/holds.ts";
import type { SqliteJoins } from "../joins/joins.ts";
import { OpenWork, refuseInsideLocked } from "../open-work.ts";
import type { Sql } from "../sql.ts";
import { openSqlite, type SqliteHandle, type SqliteStatement } from "./driver.ts";
import { isTooOld, OLDEST_TEXT } from "./version.ts";

/** Short, because it blocks the thread: retries wait for longer locks without blocking (retry.ts). */
const BUSY_MS = 100;

export interface SqliteOptions<Tx> {
  readonly path: string | SqliteHandle;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** The client of the caller's transactions. Undefined: the handle itself. */
  readonly joins?: SqliteJoins<Tx> | undefined;
  /** For tests: replaces the version of the SQLite library. */
  readonly version?: string | undefined;
}

/** `Tx` is the type of the caller's transactions: a handle, or that of the client chosen with `joins`. */
export class SqliteDatabase<Tx = SqliteHandle> implements Database<Tx> {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly #options: SqliteOptions<Tx>;
  readonly #statements = new Map<string, SqliteStatement>();
  /** Callers' handles that are known to be open on the same file. */
  readonly #known = new WeakSet<SqliteHandle>();
  readonly #open = new OpenWork();
  readonly #holds = new Holds();
  #handle: SqliteHandle | undefined;
  #closed = false;
  #held = false;
  #line: (() => void)[] = [];

  constructor(options: SqliteOptions<Tx>) {
    this.#options = options;
    this.dialect = options.dialect;
    this.clock = options.clock;
  }

  async open(): Promise<void> {
    this.#connect();
  }

  async query(statement: Sql): Promise<readonly Row[]> {
    return this.#alone(() => this.#run(statement));
  }

  async batch(statements: readonly Sql[]): Promise<readonly (readonly Row[])[]> {
    return this.#alone(() => {
      const handle = this.#connect();
      handle.exec("begin immediate");
      try {
        const results = statements.map((statement) => this.#run(statement));
        handle.exec("commit");
        return results;
      } catch (error) {
        rollback(handle);
        throw error;
      }
    });
  }

  async transaction<T>(work: (session: Session, tx: Tx) => Promise<T>, foreign: boolean = false): Promise<T> {
    if (this.#closed) throw closedError();
    this.refuseInside();
    await this.#acquire();
    try {
      const handle = this.#connect();
      handle.exec("begin immediate");
      try {
        const session: Session = { dialect: this.dialect, query: async (statement) => this.#run(statement) };
        const tx = handle as Tx;
        const result = await (foreign ? this.#open.run(() => work(session, tx)) : work(session, tx));
        handle.exec("commit");
        return result;
      } catch (error) {
        rollback(handle);
        throw error;
      }
    } finally {
      this.#release();
    }
  }

  refuseInside(): void {
    this.#open.refuseInside();
    refuseInsideLocked(this);
  }

  join(tx: Tx): JoinedSession {
    const now = this.joinNow(tx);
    const session: Session = {
      dialect: this.dialect,
      query: async (statement) => {
        while (this.#holds.isHeld(tx as object)) await this.#holds.turn(tx as object);
        return now.query(statement);
      },
    };
    return { ...session, alone: (work) => this.#holds.run(tx as object, () => work(session)) };
  }

  joinNow(given: Tx): SyncSession {
    const tx = this.#options.joins?.handleOf(given) ?? (given as SqliteHandle);
    const ours = this.#connect();
    checkHandle(tx, ours);
    if (tx !== ours && !this.#known.has(tx)) this.#checkPlace(tx, ours);
    const prepared = new Map<string, SqliteStatement>();
    return { dialect: this.dialect, query: (statement) => execute(tx, prepared, statement) };
  }

  /** Checks once per handle that it is open on the same file. */
  #checkPlace(tx: SqliteHandle, ours: SqliteHandle): void {
    if (fileOf(tx) !== fileOf(ours)) {
      throw new AmendsError(
        "BAD_OPTION",
        "The handle given as `tx` is open on another file than this Amends. Nothing was written.",
      );
    }
    this.#known.add(tx);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // A transactional act that never ends holds the connection: closing it rolls back the act's writes.
    if (this.#held) await within(this.clock, CLOSE_MS, this.#acquire());
    this.#statements.clear();
    if (this.#handle && typeof this.#options.path === "string") {
      tidy(this.#handle);
      this.#handle.close();
    }
    this.#handle = undefined;
    this.#release();
  }

  /** Runs at once if the connection is free, without a turn of the event loop. */
  async #alone<T>(work: () => T): Promise<T> {
    if (this.#closed) throw closedError();
    this.refuseInside();
    if (!this.#held && !this.#foreign()) return work();
    await this.#acquire();
    try {
      return work();
    } finally {
      this.#release();
    }
  }

  /**
   * Ends at the beginning of a turn of the event loop. An internal transaction awaits nothing else, so no other
   * code runs before it ends: other code that writes through another handle, or through this one, would otherwise
   * block on a transaction that cannot continue.
   */
  async #acquire(): Promise<void> {
    if (this.#held) await new Promise<void>((resolve) => this.#line.push(resolve));
    this.#held = true;
    await new Promise<void>((resolve) => void setImmediate(resolve));
    // A caller's handle may have an open transaction of the caller, which Amends must not join implicitly.
    for (let ms = 1; this.#foreign(); ms = Math.min(ms * 2, 50)) await sleep(this.clock, ms);
  }

  #release(): void {
    const next = this.#line.shift();
    if (next) next();
    else this.#held = false;
  }

  #foreign(): boolean {
    if (typeof this.#options.path === "string") return false;
    const { isTransaction, inTransaction } = this.#options.path;
    return isTransaction ?? inTransaction ?? false;
  }

  #run(statement: Sql): readonly Row[] {
    return execute(this.#connect(), this.#statements, statement);
  }

  #connect(): SqliteHandle {
    if (this.#closed) throw closedError();
    if (this.#handle) return this.#handle;
    const { path, version } = this.#options;
    const handle = typeof path === "string" ? openSqlite(path) : path;
    try {
      prepareHandle(handle, version);
    } catch (error) {
      if (typeof path === "string") handle.close();
      throw error;
    }
    this.#handle = handle;
    return handle;
  }
}

function execute(
  handle: SqliteHandle,
  prepared: Map<string, SqliteStatement>,
  statement: Sql,
): readonly Row[] {
  const text = statement.sql;
  let ready = prepared.get(text);
  if (!ready) prepared.set(text, (ready = handle.prepare(text)));
  const values = statement.values as never[];
  if (ready.reader === false) {
    ready.run(...values);
    return [];
  }
  return ready.all(...values) as Row[];
}

/** Checkpoints the write-ahead file, if no other connection uses it. */
function tidy(handle: SqliteHandle): void {
  try {
    handle.exec("pragma wal_checkpoint(truncate)");
  } catch {
    // Another connection uses the file and checkpoints it when it closes.
  }
}

/**
 * A caller's handle must come from the same copy of SQLite as ours: two copies in one process do not see each other's
 * locks, and can lose what was committed.
 */
function checkHandle(tx: SqliteHandle, ours: SqliteHandle): void {
  if (typeof (tx as Partial<SqliteHandle> | undefined)?.prepare !== "function") {
    throw new AmendsError(
      "BAD_OPTION",
      "`tx` must be an open SQLite handle, the one that has your transaction.",
    );
  }
  if (tx.constructor !== ours.constructor) {
    throw new AmendsError(
      "DATABASE_UNSAFE",
      "`tx` comes from another SQLite library than the one Amends uses, and two of them in one process can lose data. Open your handle with `openSqlite` from amends/sqlite, or give yours to Amends: `sqlite(handle)`.",
    );
  }
  if ((tx.isTransaction ?? tx.inTransaction) === false) {
    throw new AmendsError(
      "NEEDS_TRANSACTION",
      "The handle given as `tx` has no open transaction. Begin one first.",
    );
  }
}

/** Empty for a database in memory. */
function fileOf(handle: SqliteHandle): string | undefined {
  const databases = handle.prepare("pragma database_list").all() as { name: string; file: string }[];
  return databases.find(({ name }) => name === "main")?.file;
}

function rollback(handle: SqliteHandle): void {
  try {
    handle.exec("rollback");
  } catch {
    // SQLite may have rolled back by itself (disk full, I/O error): nothing is left to roll back.
  }
}

function prepareHandle(handle: SqliteHandle, version: string | undefined): void {
  const read = (text: string): unknown => Object.values(handle.prepare(text).all()[0] as Row)[0];
  // An in-memory database has no write-ahead log.
  const onDisk = fileOf(handle) !== "";
  handle.exec(`pragma busy_timeout = ${BUSY_MS}`);
  const found = version ?? String(read("select sqlite_version()"));
  if (isTooOld(found)) {
    throw new AmendsError(
      "DATABASE_TOO_OLD",
      `SQLite ${found} can corrupt a database in write-ahead mode. Use SQLite ${OLDEST_TEXT} or newer: Node.js 24, or the package @photostructure/sqlite.`,
    );
  }
  if (onDisk) handle.exec("pragma journal_mode = wal");
  handle.exec(
    "pragma synchronous = full; pragma secure_delete = on; pragma mmap_size = 0; pragma foreign_keys = on",
  );
  const wrong = [
    onDisk && read("pragma journal_mode") !== "wal" ? "journal_mode is not wal" : "",
    // A handle may be set to return BigInts.
    Number(read("pragma synchronous")) === 2 ? "" : "synchronous is not full",
    Number(read("pragma secure_delete")) === 1 ? "" : "secure_delete is not on",
  ].filter((text) => text !== "");
  if (wrong.length > 0) {
    throw new AmendsError(
      "DATABASE_UNSAFE",
      `SQLite did not accept the settings that Amends needs: ${wrong.join(", ")}.`,
    );
  }
}
