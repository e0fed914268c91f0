/**
 * Starts the sagas of ticks. A round reads the due schedules, decides without holding anything, and then writes in one
 * transaction: it locks the schedules that are still as they were read, creates the sagas, records the ticks and moves each
 * schedule on. A tick and its saga are therefore one commit, and two workers never start the same tick.
 */
import { AmendsError, errorLabel } from "../core/errors.ts";
import type { TickRecord } from "../core/schedule/outcomes.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import type { Row, Session } from "../storage/database.ts";
import { LaneTurns } from "../storage/lanes.ts";
import { persist, type RetryLimits } from "../storage/retry.ts";
import type { Sql } from "../storage/sql.ts";
import { planOf, writePlans, type Plan } from "./round.ts";
import { laneOf, TICK } from "./rows.ts";
import type { ScheduledSagas } from "./sagas.ts";
import {
  DUE,
  OPEN_TICK,
  selectDue,
  selectOpenTicks,
  selectUntilNext,
  UNTIL_NEXT,
  type DueSchedule,
  type OpenTick,
} from "./tick-queries.ts";

/** A schedule whose saga cannot be started is tried again after this long. */
const ASIDE_MS = 60_000;

export class Ticker {
  readonly #host: PartContext;
  readonly #sagas: ScheduledSagas;
  readonly #retryLimits: RetryLimits;
  readonly #turns = new LaneTurns();
  /** Until when schedules are left alone, by the monotonic clock. */
  readonly #aside = new Map<string, number>();

  constructor(host: PartContext, sagas: ScheduledSagas) {
    this.#host = host;
    this.#sagas = sagas;
    this.#retryLimits = retryLimitsOf(host, "schedules");
  }

  /** The kinds of sagas that this process can start. */
  get lanes(): readonly string[] {
    return this.#sagas.kinds().map(({ name, version }) => laneOf(name, version));
  }

  /** Milliseconds until the next tick of a saga that this process knows; undefined if there is none. */
  async untilNextMs(): Promise<number | undefined> {
    const { lanes } = this;
    if (lanes.length === 0) return undefined;
    const [row = {}] = await this.#query(selectUntilNext(this.#host.database.dialect, lanes));
    return UNTIL_NEXT.read(row).untilMs;
  }

  /** Processes the due ticks of at most `limit` schedules. Returns how many schedules have moved on. */
  async round(limit: number): Promise<number> {
    const { lanes } = this;
    if (lanes.length === 0) return 0;
    const { dialect } = this.#host.database;
    const rows = await this.#query(selectDue(dialect, this.#turns.order(lanes), limit));
    const due = rows.flatMap((row) => {
      const schedule = DUE.read(row);
      const last = row["number"] === null ? undefined : TICK.read(row);
      return this.#isAside(schedule.name) ? [] : [{ schedule, last }];
    });
    if (due.length === 0) return 0;
    this.#turns.served(due.map(({ schedule }) => laneOf(schedule.saga, schedule.version)));
    const names = due.map(({ schedule }) => schedule.name);
    const open = (await this.#query(selectOpenTicks(dialect, names))).map((row) => OPEN_TICK.read(row));
    // A schedule that makes up for many ticks leaves room for the others.
    const share = Math.ceil(limit / due.length);
    const plans = due.flatMap(({ schedule, last }) => {
      const started = open.filter((tick) => tick.schedule === schedule.name);
      return this.#planned(schedule, last, started, share) ?? [];
    });
    return this.#write(plans);
  }

  /** Undefined if the schedule cannot tick here now: the others must not wait for it. */
  #planned(
    schedule: DueSchedule,
    last: TickRecord | undefined,
    started: readonly OpenTick[],
    limit: number,
  ): Plan | undefined {
    try {
      return planOf(this.#sagas, schedule, last, started, limit);
    } catch (error) {
      this.#setAside(schedule.name, error);
      return undefined;
    }
  }

  async #write(plans: readonly Plan[]): Promise<number> {
    if (plans.length === 0) return 0;
    try {
      return await this.#commit(plans);
    } catch (error) {
      if (!(error instanceof AmendsError) || error.code !== "DATABASE_REFUSED") throw error;
      const [only, ...others] = plans;
      if (others.length === 0) {
        this.#setAside((only as Plan).moved.name, error);
        return 0;
      }
    }
    // The database refuses one of them: each for itself, so that the others go on.
    let moved = 0;
    for (const plan of plans) moved += await this.#write([plan]);
    return moved;
  }

  /** Safe to repeat: a schedule that has moved on has another token. */
  async #commit(plans: readonly Plan[]): Promise<number> {
    const { database } = this.#host;
    const work = (session: Session): Promise<readonly Plan[]> => writePlans(session, this.#sagas, plans);
    const written = await persist(database, () => database.transaction(work), this.#retryLimits);
    const started = written.reduce((sum, { sagas }) => sum + sagas.length, 0);
    if (started > 0) this.#sagas.created(started);
    return written.length;
  }

  #isAside(name: string): boolean {
    const untilMs = this.#aside.get(name);
    if (untilMs === undefined) return false;
    if (this.#host.clock.monotonicMs() < untilMs) return true;
    this.#aside.delete(name);
    return false;
  }

  #setAside(schedule: string, error: unknown): void {
    this.#aside.set(schedule, this.#host.clock.monotonicMs() + ASIDE_MS);
    this.#host.error(
      { schedule, error: errorLabel(error) },
      "amends: a schedule could not start its saga; it is tried again in a minute",
    );
  }

  #query(statement: Sql): Promise<readonly Row[]> {
    const { database } = this.#host;
    return persist(database, () => database.query(statement), this.#retryLimits);
  }
}
