/**
 * Pauses and resumes. A paused saga has it in its own log and row. A paused name is a row of its own, which claims ask for: what runs
 * finishes its step and is given back, and what is started or enqueued waits. A pause of a name is on record before it is done.
 */
import { ActionLog } from "../../audit/action-log.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkNote, recordedNote, type OperatorNote } from "../../core/operator-note.ts";
import { refuseUnknown } from "../../core/options.ts";
import { retryLimitsOf, type PartContext } from "../../runtime/part.ts";
import type { Engine } from "../../sagas/engine/engine.ts";
import { pausedSagas } from "../../sagas/read/paused.ts";
import type { Operators } from "../../sagas/view/operators.ts";
import type { Database, Session } from "../../storage/database.ts";
import {
  deletePause,
  insertPause,
  PAUSED_NAME,
  selectPause,
  selectPauses,
  type PausedName,
} from "../../storage/pauses/queries.ts";
import { retrying } from "../../storage/read/reader.ts";
import { persist } from "../../storage/retry.ts";
import { checkTarget, type CheckedTarget, type PauseTarget } from "./target.ts";

/** What is paused, why, and since when. */
export interface Paused {
  /** One saga (`id`), the sagas of a name (`saga`), or the calls of a name (`call`). */
  readonly kind: "id" | "saga" | "call";
  /** The id of the saga; undefined for a name. */
  readonly id: string | undefined;
  /** The name of the sagas or of the calls. */
  readonly name: string;
  /** The reason that the operator gave. */
  readonly reason: string;
  /** The operator; undefined if no name was given. */
  readonly by: string | undefined;
  /** Since when, by the database's clock. */
  readonly since: Date;
}

/** The options of `amends.paused`. */
export interface PausedOptions {
  /** The largest number of sagas, 1 to 500. Paused names come beside them, on the first page. Default: 100. */
  readonly limit?: number;
  /** The `next` of the previous page. Default: the first page. */
  readonly after?: string;
}

/** A page of what is paused: the names first, then the sagas. Each are in the order in which they were paused. */
export interface PausedList {
  /** What is paused. */
  readonly items: readonly Paused[];
  /** The place of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

export interface PauseTools {
  readonly database: Database | undefined;
  readonly context: PartContext;
  readonly engine: Engine;
  readonly operators: Operators;
  /** Calls of a name were resumed here. */
  readonly onCallsResumed: () => void;
}

type NameTarget = Extract<CheckedTarget, { readonly name: string }>;

const RECORD = "the log of operator actions";
const LIMIT_MAX = 500;

export class Pauses {
  readonly #tools: PauseTools;

  constructor(tools: PauseTools) {
    this.#tools = tools;
  }

  /** Returns the pause that is in force: the first one, where the target was paused already. */
  async pause(given: PauseTarget, note: OperatorNote): Promise<Paused> {
    const [target, database] = this.#read(given, note, "amends.pause");
    if (target.kind === "id") return ofRecord(await this.#tools.operators.pause(target.id, note));
    const { queue, name } = target;
    const { reason, by } = checkNote(note, RECORD);
    const paused = await this.#steer(database, "pause", target, note, async (session) => {
      const { dialect } = session;
      await session.query(insertPause(dialect, { queue, name, reason, by }));
      const [row] = await session.query(selectPause(dialect, queue, name));
      if (!row)
        throw new AmendsError("NOT_ALLOWED_NOW", `${name} was resumed in this very moment. Pause it again.`);
      return PAUSED_NAME.read(row);
    });
    if (queue === "sagas") this.#tools.engine.setPaused(name, true);
    return ofName(paused);
  }

  /** False if the target was not paused. */
  async resume(given: PauseTarget, note: OperatorNote): Promise<boolean> {
    const [target, database] = this.#read(given, note, "amends.resume");
    if (target.kind === "id") return this.#tools.operators.resume(target.id, note);
    const { queue, name } = target;
    // The answer to a commit may be lost, and the second try finds nothing to delete.
    let isResumed = false;
    await this.#steer(database, "resume", target, note, async (session) => {
      const [row] = await session.query(deletePause(session.dialect, queue, name));
      isResumed ||= row !== undefined;
    });
    if (queue === "sagas") this.#tools.engine.setPaused(name, false);
    else this.#tools.onCallsResumed();
    return isResumed;
  }

  async list(options: PausedOptions): Promise<PausedList> {
    refuseUnknown(options, ["limit", "after"], "amends.paused");
    const { limit = 100, after } = options;
    if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
      throw new AmendsError(
        "BAD_OPTION",
        `amends.paused: \`limit\` must be a whole number from 1 to ${LIMIT_MAX}.`,
      );
    const reader = retrying(this.#database());
    const names = after === undefined ? await reader.query(selectPauses(reader.dialect)) : [];
    const { items, next } = await pausedSagas(reader, limit, after);
    const sagas = items.map(({ sinceMs, ...saga }): Paused => ({
      kind: "id",
      ...saga,
      since: new Date(sinceMs),
    }));
    return { items: [...names.map((row) => ofName(PAUSED_NAME.read(row))), ...sagas], next };
  }

  /** The pause of the sagas of a name; undefined if they are not paused. */
  async ofSagas(name: string): Promise<Paused | undefined> {
    const { database } = this.#tools;
    if (!database) return undefined;
    const reader = retrying(database);
    const [row] = await reader.query(selectPause(reader.dialect, "sagas", name));
    return row && ofName(PAUSED_NAME.read(row));
  }

  #read(given: PauseTarget, note: OperatorNote, where: string): readonly [CheckedTarget, Database] {
    const target = checkTarget(given, where);
    refuseUnknown(note ?? {}, ["reason", "by"], where);
    checkNote(note, RECORD);
    return [target, this.#database()];
  }

  #database(): Database {
    const { database } = this.#tools;
    if (database) return database;
    throw new AmendsError(
      "NOT_SUPPORTED",
      "A custom `storage` cannot hold sagas back: nothing can be paused. Use `postgres` or `sqlite` for that.",
    );
  }

  #steer<T>(
    database: Database,
    action: "pause" | "resume",
    { kind, name }: NameTarget,
    note: OperatorNote,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    const { reason, by } = recordedNote(note, RECORD);
    const { context } = this.#tools;
    const actions = new ActionLog(database, () => context.newId());
    const write = (): Promise<T> =>
      database.transaction(async (session) => {
        const done = await work(session);
        const notice = session.dialect.notify();
        if (notice) await session.query(notice);
        return done;
      });
    const target = { kind: kind === "saga" ? "sagas" : "calls", id: name };
    return actions.around({ action, target, reason, by }, () =>
      persist(database, write, retryLimitsOf(context, "sagas")),
    );
  }
}

function ofName({ queue, name, reason, by, sinceMs }: PausedName): Paused {
  return {
    kind: queue === "sagas" ? "saga" : "call",
    id: undefined,
    name,
    reason,
    by,
    since: new Date(sinceMs),
  };
}

function ofRecord({
  id,
  name,
  reason,
  by,
  sinceMs,
}: { readonly id: string } & Omit<PausedName, "queue">): Paused {
  return { kind: "id", id, name, reason, by, since: new Date(sinceMs) };
}
