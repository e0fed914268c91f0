/**
 * The look of a worker: one statement that reads, for all duties of the worker, whether they have work and when they will. Only
 * those that have work then claim, so that a worker without work sends one statement per poll interval, however many parts it
 * runs. A look that fails or takes too long says nothing: every duty then claims by itself, so that trouble with the table of one
 * part does not hold up the others.
 */
import { spread } from "../../core/backoff.ts";
import { sleep } from "../../storage/clock.ts";
import type { Database } from "../../storage/database.ts";
import { readFigures, type Figure } from "../../storage/read/figures.ts";
import { persist } from "../../storage/retry.ts";
import type { Duty } from "../duty.ts";
import type { LoopTools } from "./loop.ts";

/** How long the database may take to answer before the duties claim by themselves. */
const ANSWER_MS = 2_000;

/** A worker is quiet after so many looks that found nothing to do. */
const QUIET_LOOKS = 5;

/** A quiet worker that hears of new work at once rests for so many polls: looks then only find what nobody announced. */
const QUIET_POLLS = 5;

/** What a look needs of the loop of a duty. */
export interface LookedFor {
  readonly duty: Pick<Duty, "name" | "look">;
  /** The duty has work after so many milliseconds; undefined: none is known. */
  looked(untilMs: number | undefined): void;
  wakeUp(): void;
}

export class Look {
  readonly #db: Database;
  readonly #loops: readonly LookedFor[];
  readonly #tools: LoopTools;
  #wake: () => void = () => undefined;
  /** Notifications of new work arrive. */
  #isHearing = false;
  /** The number of looks without work, since work was found or announced. */
  #quiet = 0;

  constructor(db: Database, loops: readonly LookedFor[], tools: LoopTools) {
    this.#db = db;
    this.#loops = loops.filter(({ duty }) => duty.look !== undefined);
    this.#tools = tools;
  }

  /** Looks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#loops.length === 0) return;
    const { owner, pollMs } = this.#tools;
    for (let tick = 0; !signal.aborted; tick++) {
      await this.#once();
      if (!signal.aborted)
        await this.#rest(spread(pollMs * this.#polls(), `${owner} look`, tick, 0.4), signal);
    }
  }

  /** Something was announced: the duties claim, and a quiet worker looks at once, and no more rarely than others. */
  heard(): void {
    const isQuiet = this.#polls() > 1;
    this.#quiet = 0;
    if (isQuiet) this.#wake();
  }

  /** Whether announcements arrive. Without them the worker looks once per poll. */
  hears(isHearing: boolean): void {
    if (isHearing === this.#isHearing) return;
    this.#isHearing = isHearing;
    if (!isHearing) this.#wake();
  }

  #polls(): number {
    return this.#isHearing && this.#quiet >= QUIET_LOOKS ? QUIET_POLLS : 1;
  }

  async #once(): Promise<void> {
    const watch = this.#tools.watch("look for work");
    try {
      const found = await this.#read();
      watch.answered();
      this.#quiet++;
      for (const [loop, untilMs] of found) {
        if (untilMs !== undefined && untilMs <= 0) this.#quiet = 0;
        loop.looked(untilMs);
      }
    } catch (error) {
      watch.trouble(error);
      this.#quiet = 0;
      for (const loop of this.#loops) loop.wakeUp();
    }
  }

  async #read(): Promise<ReadonlyMap<LookedFor, number | undefined>> {
    const db = this.#db;
    const asked: LookedFor[] = [];
    const figures: Record<string, Figure<number | undefined>> = {};
    for (const loop of this.#loops) {
      const look = loop.duty.look;
      const expression = look?.expression();
      if (!look || !expression) continue;
      figures[asked.length] = { expression, read: (value) => look.read(value) };
      asked.push(loop);
    }
    if (asked.length === 0) return new Map();
    const reader = {
      dialect: db.dialect,
      query: (statement: Figure<unknown>["expression"]) =>
        persist(db, () => db.query(statement, ANSWER_MS), { attemptMax: 1 }),
    };
    const found = await readFigures(reader, figures);
    return new Map(asked.map((loop, index) => [loop, found[index]]));
  }

  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    const rest = new AbortController();
    this.#wake = () => rest.abort();
    signal.addEventListener("abort", this.#wake, { once: true });
    await sleep(this.#tools.clock, ms, rest.signal);
    signal.removeEventListener("abort", this.#wake);
  }
}
