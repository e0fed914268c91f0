/**
 * The duty of ticks. The worker's look says when the next tick begins, and the duty sleeps until then: schedules add no statement
 * to a worker that has nothing to do, however many there are.
 */
import { Chore } from "../runtime/chore.ts";
import { lookFor, type Duty } from "../runtime/duty.ts";
import type { Dialect } from "../storage/database.ts";
import { untilNext } from "./tick-queries.ts";
import type { Ticker } from "./ticker.ts";

/** The schedules whose ticks share a commit. */
const BATCH = 100;

export class TickDuty {
  readonly #ticker: Ticker;
  readonly #chore: Chore;

  constructor(ticker: Ticker, dialect: () => Dialect) {
    this.#ticker = ticker;
    const look = lookFor(() => {
      const { lanes } = ticker;
      return lanes.length > 0 ? untilNext(dialect(), lanes) : undefined;
    });
    this.#chore = new Chore({ name: "schedules", batch: BATCH, look, run: (limit) => this.#run(limit) });
  }

  get duty(): Duty {
    return this.#chore;
  }

  /** A tick may begin so many milliseconds from now: a schedule was put, resumed or run here. */
  hint(untilMs: number): void {
    this.#chore.dueIn(untilMs);
  }

  async #run(limit: number): Promise<number> {
    const moved = await this.#ticker.round(limit);
    if (moved === 0) return 0;
    // The next tick may begin before the next look.
    const untilMs = await this.#ticker.untilNextMs();
    if (untilMs !== undefined) this.#chore.dueIn(untilMs);
    return moved;
  }
}
