/**
 * The duty of ticks. A worker knows when the next tick begins and sleeps until then: between ticks it asks the database nothing.
 * It learns of new and changed schedules from a look that it makes anyway, the one for the kinds of open sagas
 * (`src/sagas/kinds/served.ts`), which reads the next tick beside them. Only if that look does not come, because all slots are
 * taken or the worker drives no sagas, the duty looks by itself.
 */
import { Chore } from "../runtime/chore.ts";
import type { Duty } from "../runtime/duty.ts";
import type { Beside } from "../sagas/kinds/served.ts";
import type { Clock } from "../storage/clock.ts";
import type { Dialect } from "../storage/database.ts";
import type { Sql } from "../storage/sql.ts";
import { untilNext } from "./tick-queries.ts";
import type { Ticker } from "./ticker.ts";

/** The schedules whose ticks share a commit. */
const BATCH = 100;

/** The duty looks by itself when it has learned nothing for this long, over this many polls. */
const UNHEARD_MS = 5_000;
const UNHEARD_POLLS = 5;

export class TickDuty implements Beside {
  readonly #ticker: Ticker;
  readonly #clock: Clock;
  readonly #chore: Chore;
  /** When the next tick begins, by the monotonic clock. Undefined: nothing is known yet, so that the first poll looks. */
  #nextMs: number | undefined;
  #heardMs = -Infinity;
  #polls = 0;

  constructor(ticker: Ticker, clock: Clock) {
    this.#ticker = ticker;
    this.#clock = clock;
    this.#chore = new Chore({ name: "schedules", batch: BATCH, run: (limit) => this.#run(limit) });
  }

  get duty(): Duty {
    return this.#chore;
  }

  /** What the look for open kinds reads beside them; undefined while no worker drives this duty. */
  beside(dialect: Dialect): Sql | undefined {
    const { lanes } = this.#ticker;
    return this.#chore.room > 0 && lanes.length > 0 ? untilNext(dialect, lanes) : undefined;
  }

  /** What the look for open kinds has read. */
  learn(value: unknown): void {
    this.#heard(value === null || value === undefined ? undefined : Number(value));
  }

  /** The next tick begins so many milliseconds from now; undefined if there is none. */
  #heard(untilMs: number | undefined): void {
    this.#heardMs = this.#clock.monotonicMs();
    this.#polls = 0;
    this.#nextMs = this.#heardMs + (untilMs ?? Infinity);
    this.#chore.dueIn(untilMs ?? Infinity);
  }

  /** A tick may begin so many milliseconds from now: a schedule was put, resumed or run here. */
  hint(untilMs: number): void {
    this.#nextMs = Math.min(this.#nextMs ?? Infinity, this.#clock.monotonicMs() + untilMs);
    this.#chore.dueIn(untilMs);
  }

  async #run(limit: number): Promise<number> {
    const isOnce = this.#chore.room === 0;
    if (!isOnce && !this.#isDue()) return 0;
    const moved = await this.#ticker.round(limit);
    const untilMs = isOnce ? undefined : await this.#ticker.untilNextMs();
    // What is due and has not moved is another worker's, or waits for a person: it is looked at with the next poll.
    if (!isOnce) this.#heard(untilMs !== undefined && untilMs <= 0 && moved === 0 ? undefined : untilMs);
    return moved;
  }

  #isDue(): boolean {
    const nowMs = this.#clock.monotonicMs();
    const isUnheard = ++this.#polls >= UNHEARD_POLLS && nowMs - this.#heardMs >= UNHEARD_MS;
    if (this.#nextMs === undefined || this.#nextMs <= nowMs || isUnheard) return true;
    this.#chore.dueIn(this.#nextMs - nowMs);
    return false;
  }
}
