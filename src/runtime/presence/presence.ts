/**
 * Whether a worker runs anywhere. Each worker says so every 15 seconds, in one small commit, and says when it stops. A
 * worker that has said nothing for a minute counts as gone. A run of `runOnce` is no worker: it says once that it begins.
 */
import { instant } from "../../storage/column.ts";
import type { Database, Row } from "../../storage/database.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { persist } from "../../storage/retry.ts";
import type { Sql } from "../../storage/sql.ts";
import { projection } from "../../storage/table.ts";
import { listWorkers, saySeen, sayStopped, takeOldRow, WORKER } from "./queries.ts";

export const BEAT_MS = 15_000;
/** A worker that runs is heard within this time: one that was not has missed a beat. */
export const HEARD_MS: number = 2 * BEAT_MS;
const GONE_MS = 60_000;
const COUNT_MAX = 1_000;
const ANSWER_MS = 5_000;

const SEEN = projection({ ...WORKER.shape, nowAt: instant("now_at") });

export interface Workers {
  /** The number of workers that run, counted up to 1,000. */
  readonly running: number;
  /** Milliseconds since a run of `runOnce` last began, as from a cron job; undefined if a worker was seen later. */
  readonly runMsAgo: number | undefined;
  /** Milliseconds since a worker was last seen; undefined if there never was one. */
  readonly seenMsAgo: number | undefined;
  /**
   * Of the workers that count as running: how long ago the most silent one was last heard. Undefined if none runs. A
   * worker that was killed counts as running until it has been silent for a minute.
   */
  readonly silentMs: number | undefined;
}

export async function readWorkers(reader: Reader): Promise<Workers> {
  const all = (await reader.query(listWorkers(reader.dialect, COUNT_MAX))).map((row) => SEEN.read(row));
  const run = all[0]?.isRun ? all[0] : undefined;
  const rows = all.filter(({ isRun }) => !isRun);
  const running = rows.filter(
    ({ seenAt, stoppedAt, nowAt }) => stoppedAt === undefined && nowAt - seenAt < GONE_MS,
  );
  const [last] = rows;
  const silence = ({ nowAt, seenAt }: { readonly nowAt: number; readonly seenAt: number }): number =>
    Math.max(0, nowAt - seenAt);
  return {
    running: running.length,
    runMsAgo: run && silence(run),
    seenMsAgo: last && silence(last),
    silentMs: running.length === 0 ? undefined : Math.max(...running.map(silence)),
  };
}

/** The presence of the worker of one process. */
export class Presence {
  readonly #db: Database;
  readonly #owner: string;
  #isKnown = false;

  constructor(db: Database, owner: string) {
    this.#db = db;
    this.#owner = owner;
  }

  /** The signs of life of the worker's duties are part of the same commit. */
  async seen(isRun: boolean, beats: readonly Sql[] = []): Promise<void> {
    const { dialect } = this.#db;
    const isTaken = !this.#isKnown && (await this.#query(takeOldRow(dialect, this.#owner, isRun))).length > 0;
    if (!isTaken) await this.#query(saySeen(dialect, this.#owner, isRun), beats);
    this.#isKnown = true;
  }

  async stopped(): Promise<void> {
    await this.#query(sayStopped(this.#db.dialect, this.#owner));
  }

  /** Tried once: the next beat comes soon. */
  #query(statement: Sql, more: readonly Sql[] = []): Promise<readonly Row[]> {
    const send = async (): Promise<readonly Row[]> => {
      if (more.length === 0) return this.#db.query(statement, ANSWER_MS);
      const [rows = []] = await this.#db.batch([statement, ...more]);
      return rows;
    };
    return persist(this.#db, send, { attemptMax: 1 });
  }
}
