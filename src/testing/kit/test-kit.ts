/**
 * Runs an application's own sagas, handlers, calls, resolvers and webhooks in one process on virtual time, until
 * nothing is left to do. Calls can be made to fail, and processes to die.
 */
import { durationMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { Amends } from "../../operate/amends.ts";
import type { Worker } from "../../operate/worker.ts";
import { nextDueMs } from "../../operate/budget/next-due.ts";
import { intercepting } from "../../runtime/call.ts";
import type { Database } from "../../storage/database.ts";
import { retrying } from "../../storage/read/reader.ts";
import { SqliteDatabase } from "../../storage/sqlite/connection.ts";
import { sqliteDialect } from "../../storage/sqlite/dialect.ts";
import type { SqliteHandle } from "../../storage/sqlite/driver.ts";
import { migrate } from "../../storage/migrations/migrate.ts";
import { mortalDatabase } from "./mortal-database.ts";
import { Mortality } from "./mortality.ts";
import { CallScript, type KitCall } from "./call-script.ts";
import { virtualClock, type VirtualClock } from "./virtual-clock.ts";

/** The options of `testKit`. */
export interface TestKitOptions {
  /** A SQLite database with a virtual clock: `sqlite(file, { clock })`. Default: one in memory. */
  readonly database?: Database<SqliteHandle>;
}

/** The options of `runUntilIdle`. */
export interface RunUntilIdleOptions {
  /** How far virtual time may move, for retries, waits, deadlines and leases. Default: 1h. */
  readonly within?: Duration;
}

/** The options of `fail`. */
export interface FailOptions {
  /** What the call throws. Default: an Error, which is retried. */
  readonly error?: unknown;
  /** How many calls fail. Default: 1. */
  readonly times?: number;
}

/** The rounds after which work counts as endless. */
const ROUNDS_MAX = 10_000;
/** The turns of the event loop after which a database in memory has answered every query. */
const SETTLE_TURNS = 40;
/** The limit of one call in real time. */
const REAL_LIMIT_MS = 10_000;

class KitProcess<Category extends string> extends Mortality {
  readonly amends: Amends<SqliteHandle, Category>;
  readonly worker: Worker;

  constructor(database: Database<SqliteHandle>, clock: VirtualClock, make: MakeAmends<Category>) {
    super();
    this.amends = make(mortalDatabase(this, database, clock));
    this.worker = this.amends.worker();
  }
}

/** Makes the Amends of one process. */
export type MakeAmends<Category extends string = string> = (
  database: Database<SqliteHandle>,
) => Amends<SqliteHandle, Category>;

/** A process, its database and its time, under the control of a test. Made by `testKit`. */
export class TestKit<Category extends string = string> {
  /** The clock of the process and of the database. */
  readonly clock: VirtualClock;
  readonly #database: Database<SqliteHandle>;
  readonly #make: MakeAmends<Category>;
  readonly #script = new CallScript();
  #process: KitProcess<Category>;

  /** Use `testKit(…)`, which migrates the database. */
  constructor(make: MakeAmends<Category>, database: Database<SqliteHandle>, clock: VirtualClock) {
    this.clock = clock;
    this.#make = make;
    this.#database = database;
    this.#process = new KitProcess(database, clock, make);
  }

  /** The Amends of the process that is alive. After a crash it is another one. */
  get amends(): Amends<SqliteHandle, Category> {
    return this.#living().amends;
  }

  /** Every call that was made, in order, also those whose answer was lost. */
  get calls(): readonly KitCall[] {
    return this.#script.calls;
  }

  /**
   * The next call of this name throws instead of being made: `charge`, a step, handler, call or resolver, or the type of
   * the event that a webhook sends. `undo charge` is the compensation of a step.
   */
  fail(call: string, options: FailOptions = {}): void {
    refuseUnknown(options, ["error", "times"], "fail");
    const { error = new Error(`the test kit failed ${call}`), times = 1 } = options;
    this.#script.order(call, { kind: "fail", error }, times);
  }

  /**
   * The process dies at the next call of this name: before the call is made, or after it has answered and before that
   * is recorded. Another process takes over when the lease has lapsed. Default: after.
   */
  crash(call: string, when: "before" | "after" = "after"): void {
    this.#script.order(call, { kind: "crash", when }, 1);
  }

  /**
   * From now on, everything that this call handles is delivered to it twice, with the same key: the first answer is
   * lost with its process.
   */
  deliverTwice(call: string): void {
    this.#script.order(call, { kind: "crash", when: "after" }, Infinity, true);
  }

  /**
   * Runs everything that is due, moves time to the next instant at which work becomes due, and so on, until nothing
   * becomes due within the limit. Returns the number of processed items.
   */
  async runUntilIdle(options: RunUntilIdleOptions = {}): Promise<number> {
    refuseUnknown(options, ["within"], "runUntilIdle");
    const untilMs = this.clock.virtualNowMs() + durationMs(options.within ?? "1h", "within");
    let total = 0;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const items = await this.#runOnce();
      total += items ?? 0;
      if (items !== 0) continue;
      const nextMs = await nextDueMs(retrying(this.#database));
      if (nextMs === undefined || nextMs > untilMs) return total;
      await this.clock.advance(nextMs - this.clock.virtualNowMs());
    }
    throw new AmendsError("STOPPED_WAITING", `The work did not end in ${ROUNDS_MAX} rounds.`);
  }

  /** Throws if a failure or a crash that was ordered met no call: a name that is misspelled proves nothing. */
  refuseUnmet(): void {
    const { unmet } = this.#script;
    if (unmet.length === 0) return;
    throw new AmendsError("BAD_OPTION", `These calls were not made: ${unmet.join(", ")}.`);
  }

  /** Closes the Amends and the database. */
  async close(): Promise<void> {
    await this.amends.close({ deadline: 0 });
    this.#process.kill();
    await this.#database.close();
  }

  #living(): KitProcess<Category> {
    if (!this.#process.isAlive) this.#process = new KitProcess(this.#database, this.clock, this.#make);
    return this.#process;
  }

  /** Undefined if the process died. */
  async #runOnce(): Promise<number | undefined> {
    const process = this.#living();
    let end: { readonly items: number } | { readonly error: unknown } | undefined;
    intercepting(
      (call, make) => this.#script.make(process, call, make),
      () => process.worker.runOnce(),
    ).then(
      (items) => (end = { items }),
      (error: unknown) => (end = { error }),
    );
    for (let turn = 0; end === undefined && process.isAlive; turn++) {
      if (await this.#settles(() => end === undefined && process.isAlive)) {
        if (turn > ROUNDS_MAX) throw stuck();
        // Only a timer can go on: a short wait between two attempts, or a renewal.
        await this.clock.advanceToNext();
      }
    }
    if (end === undefined) return undefined;
    if ("error" in end) throw end.error;
    return end.items;
  }

  /** True if nothing more can happen without time passing. No time passes while a call runs. */
  async #settles(canGoOn: () => boolean): Promise<boolean> {
    for (let turn = 0; turn < SETTLE_TURNS; turn++) {
      if (!canGoOn()) return false;
      const { running } = this.#script;
      if (running) {
        await withinRealTime(running);
        return false;
      }
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    return true;
  }
}

async function withinRealTime(running: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), REAL_LIMIT_MS);
  });
  const ended = await Promise.race([running.catch(() => undefined), limit]);
  clearTimeout(timer);
  if (ended === "late") throw stuck();
}

function stuck(): AmendsError {
  return new AmendsError("STOPPED_WAITING", "A call did not answer within 10s of real time.");
}

/**
 * Makes a process for a test: a database in memory with a virtual clock, migrated, and the Amends that `make` returns
 * for it. Start sagas, publish events and enqueue calls with `kit.amends`, then `kit.runUntilIdle()`.
 */
export async function testKit<Category extends string = string>(
  make: MakeAmends<Category>,
  options: TestKitOptions = {},
): Promise<TestKit<Category>> {
  refuseUnknown(options, ["database"], "testKit");
  const clock = options.database?.clock ?? virtualClock();
  if (!isVirtual(clock))
    throw new AmendsError(
      "BAD_OPTION",
      "The database of a test kit needs a virtual clock: sqlite(file, { clock }).",
    );
  const database =
    options.database ??
    new SqliteDatabase({ path: ":memory:", dialect: sqliteDialect("amends_", clock), clock });
  await migrate(database);
  return new TestKit(make, database, clock);
}

function isVirtual(clock: object): clock is VirtualClock {
  return typeof (clock as Partial<VirtualClock>).advance === "function";
}
