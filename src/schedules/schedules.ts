/** `amends.schedules`: puts schedules, shows them, and lets operators steer them. Workers start the sagas of their ticks. */
import type { Page } from "../core/cursor.ts";
import { AmendsError } from "../core/errors.ts";
import { checkId } from "../core/identity.ts";
import { checkNote, recordedNote, type OperatorNote } from "../core/operator-note.ts";
import { givenTransaction, refuseUnknown } from "../core/options.ts";
import { COMMIT_SOON_MS, type Duty } from "../runtime/duty.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import type { AnySaga } from "../sagas/define/definition.ts";
import type { AnyReference } from "../sagas/define/reference.ts";
import type { NewSaga } from "../sagas/journal/journal.ts";
import { atOnce, joinNow } from "../storage/joins/at-once.ts";
import { perform, performNow, type Work } from "../storage/joins/work.ts";
import { retrying, type Reader } from "../storage/read/reader.ts";
import { answerInTime, persist } from "../storage/retry.ts";
import {
  checkScheduleName,
  checkTiming,
  type CheckedDefinition,
  type CheckedTiming,
  type ScheduleDefinition,
} from "./definition.ts";
import { TickDuty } from "./duty.ts";
import { RECORD, ScheduleOperators } from "./operators.ts";
import { putting, removing, type Put, type PutResult } from "./put.ts";
import { listPage, readSchedule } from "./read/list.ts";
import type { ScheduledSagas } from "./sagas.ts";
import { Ticker } from "./ticker.ts";
import type { ListedSchedule, Schedule, ScheduleStatus } from "./read/view.ts";

/** The options of `put` and `remove`. */
export interface ScheduleTransaction<Tx = unknown> {
  /** Your own open transaction: the change exists if and only if it commits. */
  readonly tx?: Tx;
}

/** Which schedules are listed. */
export interface ScheduleFilter {
  /** Only schedules whose names begin so. */
  readonly name?: string;
  /** Only schedules of this saga. */
  readonly saga?: string;
  /** Only schedules with this status. */
  readonly status?: ScheduleStatus;
  /** The size of a page. Default: 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}

/** The options of `get`. */
export interface GetScheduleOptions {
  /** How many of the next ticks are shown, 1 to 100. Default: 5. */
  readonly nextTicks?: number;
}

const LIMIT_MAX = 1_000;
const NEXT_TICKS_MAX = 100;

/** Schedules of sagas: `amends.schedules`. */
export class Schedules<Tx = unknown> {
  readonly #host: PartContext<Tx>;
  readonly #sagas: ScheduledSagas;
  readonly #operators: ScheduleOperators;
  readonly #ticks: TickDuty;

  /** @internal */
  constructor(context: PartContext<Tx>, sagas: ScheduledSagas) {
    this.#host = context;
    this.#sagas = sagas;
    this.#operators = new ScheduleOperators(context);
    this.#ticks = new TickDuty(new Ticker(context, sagas), () => context.database.dialect);
  }

  /** @internal */
  get duties(): readonly Duty[] {
    return [this.#ticks.duty];
  }

  /**
   * Puts a schedule: each of its ticks starts the saga. The same definition again changes nothing; another definition under
   * the same name replaces it from now on. A schedule that is paused stays paused. With `tx`, it exists if and only if the
   * transaction commits.
   */
  async put<Input, Output, Results, Failure>(
    name: string,
    definition: ScheduleDefinition<Input, Output, Results, Failure>,
    options: ScheduleTransaction<Tx> = {},
  ): Promise<PutResult> {
    const [timing, prepared] = this.#read(name, definition, options, "schedules.put");
    const checked = checkedOf(name, timing, await prepared);
    const tx = givenTransaction(options, "schedules.put");
    const work = (dialect: Parameters<typeof putting>[0]): Work<Put> => putting(dialect, checked);
    return this.#hinted(await this.#perform(tx, work), tx !== undefined);
  }

  /** @internal `put` in a synchronous transaction. */
  putNow(
    name: string,
    definition: ScheduleDefinition<unknown, unknown, unknown, unknown>,
    options: ScheduleTransaction<Tx>,
  ): PutResult {
    const { database } = this.#host;
    const [timing, prepared] = this.#read(name, definition, options, "schedules.put");
    const checked = checkedOf(name, timing, atOnce(prepared, `The input of schedule ${name}`));
    return this.#hinted(performNow(joinNow(database, options.tx), putting(database.dialect, checked)), true);
  }

  /** Reads a schedule with its next ticks and its last ones; undefined if there is none with this name. */
  async get(name: string, options: GetScheduleOptions = {}): Promise<Schedule | undefined> {
    refuseUnknown(options, ["nextTicks"], "schedules.get");
    const { nextTicks = 5 } = options;
    within(nextTicks, NEXT_TICKS_MAX, "nextTicks");
    return readSchedule(this.#reader(), checkScheduleName(name), nextTicks);
  }

  /** Lists schedules by name, page by page. */
  async list(filter: ScheduleFilter = {}): Promise<Page<ListedSchedule>> {
    refuseUnknown(filter, ["name", "saga", "status", "limit", "after"], "schedules.list");
    const { name, saga, status, limit = 100, after } = filter;
    if (name !== undefined) checkId(name, "`name`");
    if (saga !== undefined) checkId(saga, "`saga`");
    within(limit, LIMIT_MAX, "limit");
    if (status !== undefined && status !== "active" && status !== "paused")
      throw new AmendsError("BAD_OPTION", "`status` must be active or paused.");
    return listPage(this.#reader(), { name, saga, status, limit, after });
  }

  /** Pauses a schedule: it does not tick until it is resumed. Its open sagas go on. */
  async pause(name: string, note: OperatorNote): Promise<void> {
    await this.#operators.pause(checkScheduleName(name), note);
  }

  /** Resumes a paused schedule from now on: ticks that passed meanwhile are not made up for. */
  async resume(name: string, note: OperatorNote): Promise<void> {
    this.#ticks.hint(await this.#operators.resume(checkScheduleName(name), note));
  }

  /**
   * Has the saga of a schedule started now, beside its ticks, also while it is paused. A worker that knows the saga starts it
   * under the returned id. Throws `NOT_ALLOWED_NOW` while an earlier saga is open and `overlap` is `"skip"`.
   */
  async run(name: string, note: OperatorNote): Promise<{ readonly sagaId: string }> {
    const sagaId = await this.#operators.run(checkScheduleName(name), note);
    this.#ticks.hint(0);
    return { sagaId };
  }

  /** Removes a schedule and the record of its ticks. Its open sagas go on. False if there was no such schedule. */
  async remove(name: string, note: OperatorNote & ScheduleTransaction<Tx>): Promise<boolean> {
    const tx = givenTransaction(note ?? {}, "schedules.remove");
    return this.#perform(tx, this.#removal(name, note));
  }

  /** @internal `remove` in a synchronous transaction. */
  removeNow(name: string, note: OperatorNote & ScheduleTransaction<Tx>): boolean {
    const { database } = this.#host;
    return performNow(joinNow(database, note?.tx), this.#removal(name, note)(database.dialect));
  }

  #removal(name: string, given: OperatorNote): (dialect: Parameters<typeof putting>[0]) => Work<boolean> {
    checkScheduleName(name);
    checkNote(given, RECORD);
    const { reason, by } = recordedNote(given, RECORD);
    const actionId = this.#host.newId();
    const action = { by, action: "remove", target: { kind: "schedule", id: name }, reason };
    return (dialect) => removing(dialect, actionId, action);
  }

  /** Everything that can be refused is refused before anything is written. */
  #read(
    name: string,
    definition: object,
    options: object,
    where: string,
  ): readonly [timing: CheckedTiming, prepared: NewSaga | Promise<NewSaga>] {
    checkScheduleName(name);
    refuseUnknown(options, ["tx"], where);
    const timing = checkTiming(name, definition);
    const { saga, input } = definition as {
      readonly saga?: AnySaga | AnyReference;
      readonly input?: unknown;
    };
    if (typeof saga !== "object" || saga === null)
      throw new AmendsError(
        "BAD_DEFINITION",
        `Schedule ${name}: \`saga\` must be a saga, or a reference to one.`,
      );
    return [timing, this.#sagas.prepare(saga, input, name)];
  }

  async #perform<T>(
    tx: Tx | undefined,
    work: (dialect: Parameters<typeof putting>[0]) => Work<T>,
  ): Promise<T> {
    const { database } = this.#host;
    if (tx !== undefined) {
      const session = database.join(tx);
      return perform(session, work(session.dialect));
    }
    database.refuseInside?.();
    const write = (): Promise<T> =>
      database.transaction((session) => perform(session, work(session.dialect)));
    return answerInTime(database, persist(database, write, retryLimitsOf(this.#host, "schedules")));
  }

  /** A caller's transaction commits a little later. */
  #hinted({ change, next, nowMs }: Put, isJoined: boolean): PutResult {
    if (next) this.#ticks.hint(Math.max(next.dueMs - nowMs, isJoined ? COMMIT_SOON_MS : 0));
    return { change, nextAt: next && new Date(next.tickMs) };
  }

  #reader(): Reader {
    return retrying(this.#host.database, retryLimitsOf(this.#host, "schedules"));
  }
}

function checkedOf(name: string, timing: CheckedTiming, prepared: NewSaga): CheckedDefinition {
  return { ...timing, name, saga: prepared.name, version: prepared.definition, input: prepared.input };
}

function within(value: unknown, most: number, field: string): void {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most) return;
  throw new AmendsError("BAD_OPTION", `\`${field}\` must be a whole number of 1 to ${most}.`);
}
