/**
 * Group commit. All writes go to one writer, which runs one flush at a time and sends the items that arrived
 * meanwhile as the next flush, in one transaction. There is no timer: a single item is flushed at once, a busy
 * process flushes hundreds together.
 *
 * `flush` must be safe to repeat: after a lost connection it gets the same items again, and answers for each
 * whether it is in the database. An item that the database refuses is found by splitting the group, and fails
 * alone. If the reason lies in the database (a missing right, a missing table), the item is kept and written again
 * with a backoff.
 */
import process from "node:process";
import { isLasting, isUnavailable } from "../../core/errors.ts";
import { sleep, systemClock, TimeLimit, type Limited } from "../clock.ts";
import type { Database } from "../database.ts";
import { BRIEF_RETRIES, noAnswer, persist, type DatabaseWatch } from "../retry.ts";
import { RefusedItems, type RefusedWrites } from "./refused-writes.ts";

/** An item to write, and what waits for it. The writer calls one of the two functions, once; neither throws. */
export interface Submission<Item, Answer> {
  readonly item: Item;
  /** The flush with the item is committed. */
  written(answer: Answer): void;
  failed(error: unknown): void;
}

/** A submission of a caller that waits for a promise. */
class Awaited<Item, Answer> implements Submission<Item, Answer>, Limited {
  readonly item: Item;
  sinceMs = 0;
  readonly #db: GroupWriterOptions<Item, Answer>["db"];
  readonly #limit: TimeLimit | undefined;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;

  /** With `limit`, the caller does not wait longer than that. */
  constructor(
    { db }: GroupWriterOptions<Item, Answer>,
    item: Item,
    limit: TimeLimit | undefined,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ) {
    this.item = item;
    this.#db = db;
    this.#limit = limit;
    this.#resolve = resolve;
    this.#reject = reject;
    limit?.begin(this);
  }

  written(answer: Answer): void {
    this.#limit?.end(this);
    this.#resolve(answer);
  }

  failed(error: unknown): void {
    this.#limit?.end(this);
    this.#reject(error);
  }

  timeUp(): void {
    this.#reject(noAnswer(this.#db));
  }
}

export interface GroupWriterOptions<Item, Answer> {
  readonly db: Pick<Database, "dialect" | "clock" | "callMs">;
  readonly flush: (items: readonly Item[]) => Promise<readonly Answer[]>;
  readonly bytes: (item: Item) => number;
  readonly signal?: AbortSignal;
  /**
   * The number of waiting items from which a second flush runs in parallel; never on a database with one writer.
   */
  readonly parallelFrom?: number;
  readonly watch?: DatabaseWatch | undefined;
  /** True if a caller waits for this item, so that an outage is reported instead of waited out. */
  readonly failFast: (item: Item) => boolean;
  /** Called at each refusal for a lasting reason, and once nothing is refused any more. */
  readonly onRefused?: ((refused: RefusedWrites) => void) | undefined;
}

const HOLD_MS = 1_000;
const ITEMS_MAX = 1_000;
/** A flush that takes longer than this waits for a lock, not for the disk. */
const SLOW_MS = 250;
const FLIGHTS_MAX = 3;
const BYTES_MAX = 4 * 1_048_576;

export class GroupWriter<Item, Answer> {
  readonly #options: GroupWriterOptions<Item, Answer>;
  #waiting: Submission<Item, Answer>[] = [];
  #flying = 0;
  #held = 0;
  readonly #refused: RefusedItems<Submission<Item, Answer>>;
  #slow = 0;
  #planned = false;
  #idle: (() => void)[] = [];
  /** Of callers that wait for an answer. */
  readonly #limit: TimeLimit | undefined;
  /** The number of committed transactions, for measurements. */
  flushes = 0;

  constructor(options: GroupWriterOptions<Item, Answer>) {
    this.#options = options;
    this.#refused = new RefusedItems(options);
    const { callMs } = options.db;
    this.#limit = callMs === undefined ? undefined : new TimeLimit(systemClock, callMs);
  }

  submit(item: Item): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const limit = this.#limit && this.#options.failFast(item) ? this.#limit : undefined;
      this.enqueue(new Awaited(this.#options, item, limit, resolve, reject));
    });
  }

  /** The same without a promise and without a limit. */
  enqueue(submission: Submission<Item, Answer>): void {
    this.#waiting.push(submission);
    this.#plan();
  }

  /** Resolves once all submitted items are written. */
  drained(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #isIdle(): boolean {
    return this.#flying === 0 && this.#waiting.length === 0 && this.#held === 0;
  }

  /** Items that are submitted in the same turn of the event loop share a flush. */
  #plan(): void {
    if (this.#planned || !this.#mayFly()) return;
    this.#planned = true;
    const depart = (): void => {
      this.#planned = false;
      if (this.#waiting.length > 0 && this.#mayFly()) void this.#fly();
      if (this.#waiting.length > 0) this.#plan();
    };
    // Yields to the event loop: a synchronous database would otherwise starve all other work.
    if (this.#options.db.dialect.name === "sqlite") setImmediate(depart);
    else process.nextTick(depart);
  }

  /**
   * One flush at a time makes the largest groups; many waiting items justify two. A flush that waits for a lock
   * does not count.
   */
  #mayFly(): boolean {
    const busy = this.#flying - this.#slow;
    if (this.#flying >= FLIGHTS_MAX) return false;
    return busy === 0 || (busy === 1 && this.#waiting.length >= (this.#options.parallelFrom ?? Infinity));
  }

  async #fly(): Promise<void> {
    this.#flying++;
    let isSlow = false;
    const cancel = this.#options.db.clock.after(SLOW_MS, () => {
      isSlow = true;
      this.#slow++;
      if (this.#waiting.length > 0) this.#plan();
    });
    await this.#flush(this.#take());
    cancel();
    this.#flying--;
    if (isSlow) this.#slow--;
    if (this.#waiting.length > 0) this.#plan();
    else if (this.#isIdle()) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #take(): Submission<Item, Answer>[] {
    const most = Math.min(ITEMS_MAX, this.#share());
    let count = 0;
    for (let bytes = 0; count < this.#waiting.length && count < most; count++) {
      bytes += this.#options.bytes((this.#waiting[count] as Submission<Item, Answer>).item);
      if (bytes > BYTES_MAX && count > 0) break;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count);
    return taken;
  }

  /** Splits a large group, so that this process prepares one part while the database writes the other. */
  #share(): number {
    const { parallelFrom = Infinity } = this.#options;
    const isFirst = this.#flying - this.#slow === 1;
    return isFirst && this.#waiting.length >= 2 * parallelFrom
      ? Math.ceil(this.#waiting.length / 2)
      : Infinity;
  }

  async #flush(group: readonly Submission<Item, Answer>[]): Promise<void> {
    const { db, flush, signal, watch } = this.#options;
    const items = group.map((one) => one.item);
    let answers: readonly Answer[];
    try {
      answers = await persist(db, () => flush(items), {
        ...BRIEF_RETRIES,
        signal,
        watch,
        splits: items.length > 1,
      });
    } catch (error) {
      return this.#notWritten(group, error);
    }
    this.flushes++;
    group.forEach((one, index) => one.written(answers[index] as Answer));
    this.#refused.settled(group);
  }

  async #notWritten(group: readonly Submission<Item, Answer>[], error: unknown): Promise<void> {
    if (isUnavailable(error)) return this.#hold(group, error);
    if (group.length === 1) {
      if (isLasting(error)) return this.#hold(group, error);
      group[0]?.failed(error);
      return this.#refused.settled(group);
    }
    const half = group.length >> 1;
    await Promise.all([this.#flush(group.slice(0, half)), this.#flush(group.slice(half))]);
  }

  /** The database is unreachable: items with a waiting caller fail, the others wait without blocking new items. */
  #hold(group: readonly Submission<Item, Answer>[], error: unknown): void {
    const { failFast, signal } = this.#options;
    const isWaitedFor = (item: Item): boolean => signal?.aborted === true || failFast(item);
    const patient = group.filter((one) => !isWaitedFor(one.item));
    const failed = group.filter((one) => isWaitedFor(one.item));
    for (const one of failed) one.failed(error);
    this.#refused.settled(failed);
    if (patient.length === 0) return;
    this.#held++;
    void this.#returnLater(patient, error);
  }

  async #returnLater(patient: readonly Submission<Item, Answer>[], error: unknown): Promise<void> {
    const { db, signal } = this.#options;
    await (isLasting(error) ? this.#refused.refused(patient, error) : sleep(db.clock, HOLD_MS, signal));
    this.#held--;
    this.#waiting = [...patient, ...this.#waiting];
    this.#plan();
  }
}
