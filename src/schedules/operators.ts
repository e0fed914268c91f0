/** What an operator may do to a schedule: pause, resume, run. Each action is on record, with its reason, before it is done. */
import { ActionLog } from "../audit/action-log.ts";
import { AmendsError } from "../core/errors.ts";
import { checkNote, recordedNote, type OperatorNote } from "../core/operator-note.ts";
import { sagaMachine } from "../core/saga/machine.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import type { Session } from "../storage/database.ts";
import { perform } from "../storage/joins/work.ts";
import { persist } from "../storage/retry.ts";
import { nextAfter, notifying, nowOf } from "./put.ts";
import { askForRun, pauseSchedule, resumeSchedule, selectSchedule } from "./queries.ts";
import { SCHEDULE, type ScheduleRow } from "./rows.ts";
import { OPEN_TICK, selectOpenTicks } from "./tick-queries.ts";

/** The record of operator actions. */
export const RECORD = "the log of operator actions";

/** The actions on a schedule, in code, in the console and on the command line. */
export type ScheduleAction = "pause" | "resume" | "run" | "remove";

/** A schedule under a lock, and the database's time. */
interface Locked {
  readonly row: ScheduleRow;
  readonly nowMs: number;
}

export class ScheduleOperators {
  readonly #host: PartContext;
  readonly #actions: ActionLog;

  constructor(host: PartContext) {
    this.#host = host;
    this.#actions = new ActionLog(host.database, () => host.newId());
  }

  async pause(name: string, note: OperatorNote): Promise<void> {
    const { reason, by } = checkNote(note, RECORD);
    await this.#steer("pause", name, note, async (session) => {
      await session.query(pauseSchedule(session.dialect, name, { reason, by }));
    });
  }

  /** Returns how long it is until the next tick begins. */
  async resume(name: string, note: OperatorNote): Promise<number> {
    return this.#steer("resume", name, note, async (session, { row, nowMs }) => {
      const next = nextAfter(row, nowMs);
      await session.query(resumeSchedule(session.dialect, name, next));
      return (next?.dueMs ?? Infinity) - nowMs;
    });
  }

  /** Returns the id of the saga that a worker is going to start. */
  async run(name: string, note: OperatorNote): Promise<string> {
    // One id however often the transaction is tried.
    const runId = `${name}@run-${this.#host.newId()}`;
    return this.#steer("run", name, note, async (session, { row }) => {
      if (row.runId === runId) return runId;
      if (row.runId !== undefined)
        throw refused(`A run of schedule ${name} waits for a worker already: ${row.runId}.`, name);
      if (row.overlap === "skip") await refuseOverlap(session, name);
      await session.query(askForRun(session.dialect, name, runId));
      return runId;
    });
  }

  async #steer<T>(
    action: ScheduleAction,
    name: string,
    note: OperatorNote,
    work: (session: Session, locked: Locked) => Promise<T>,
  ): Promise<T> {
    checkNote(note, RECORD);
    const { reason, by } = recordedNote(note, RECORD);
    const { database } = this.#host;
    const write = (): Promise<T> =>
      database.transaction(async (session) => {
        const [found] = await session.query(selectSchedule(session.dialect, name, true));
        if (!found) throw notFound(name);
        const done = await work(session, { row: SCHEDULE.read(found), nowMs: nowOf(found) });
        await perform(session, notifying(session.dialect));
        return done;
      });
    return this.#actions.around({ action, target: { kind: "schedule", id: name }, reason, by }, () =>
      persist(database, write, retryLimitsOf(this.#host, "schedules")),
    );
  }
}

async function refuseOverlap(session: Session, name: string): Promise<void> {
  const started = (await session.query(selectOpenTicks(session.dialect, [name]))).map((row) =>
    OPEN_TICK.read(row),
  );
  const open = started.findLast(({ status }) => status !== undefined && !sagaMachine.isTerminal(status));
  if (!open) return;
  throw refused(
    `Saga ${open.sagaId} of schedule ${name} is ${open.status}, and the schedule has \`overlap: "skip"\`. Run it when that saga has ended.`,
    name,
  );
}

function refused(message: string, schedule: string): AmendsError {
  return new AmendsError("NOT_ALLOWED_NOW", message, { schedule });
}

function notFound(schedule: string): AmendsError {
  return new AmendsError("SCHEDULE_NOT_FOUND", `There is no schedule with the name ${schedule}.`, {
    schedule,
  });
}
