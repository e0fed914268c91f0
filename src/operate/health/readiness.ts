/**
 * Readiness means progress: a process that answers but makes no progress is not ready. The database must answer within
 * a limit and accept writes, the oldest due work must not have waited too long, and the worker of this process must
 * claim.
 */
import { within } from "../../storage/clock.ts";
import type { Database } from "../../storage/database.ts";
import { isWritable } from "../../storage/read/writable.ts";
import type { WorkerHealth } from "../../runtime/polling/loop.ts";
import { dueAges } from "./backlog.ts";
import { workersOf } from "../workers.ts";

/** The readiness of a worker: whether it makes progress, and what was checked. */
export interface WorkerReadiness {
  /** True if every check passed. */
  readonly ready: boolean;
  /** The number of workers that run anywhere; null if the database does not answer or there is none. */
  readonly workers: number | null;
  /** The checks: `database`, `due sagas` and other parts, and `worker`. The details hold no values. */
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}

type ReadinessCheck = WorkerReadiness["checks"][number];

export interface Found {
  readonly workers: number | null;
  /** How long ago the most silent of these workers was last heard; null if none runs. */
  readonly silentMs: number | null;
  /** How long ago a run of `runOnce` last began, as from a cron job; null if a worker was seen later. */
  readonly runMsAgo: number | null;
  readonly checks: readonly ReadinessCheck[];
}

/** Readiness fails once due work has waited, or the worker has not looked for work, for this long. */
export const STUCK_AFTER = "5m";

/** How long the database may take to answer. */
const ANSWER_MS = 2_000;

/** What the database said, held against a limit. */
type Answer = (stuckAfterMs: number) => Found;

export class Readiness {
  readonly #db: Database;
  /** A database that hangs is not asked a second time meanwhile. */
  #underWay: Promise<Answer> | undefined;

  constructor(database: Database) {
    this.#db = database;
  }

  /** The database, the work that is due, and the worker of this process, if one runs. */
  async look(stuckAfterMs: number, worker: () => WorkerHealth | undefined): Promise<Found> {
    this.#underWay ??= this.#askDatabase().finally(() => (this.#underWay = undefined));
    let found = noAnswer(`the database has not answered within ${duration(ANSWER_MS)}`);
    await within(
      this.#db.clock,
      ANSWER_MS,
      this.#underWay.then((answer) => (found = answer(stuckAfterMs))),
    );
    const health = worker();
    if (!health) return found;
    return { ...found, checks: [...found.checks, workerCheck(health, stuckAfterMs)] };
  }

  /** Asked once, without retries: a health check reports trouble and does not wait for its end. */
  async #askDatabase(): Promise<Answer> {
    const db = this.#db;
    try {
      const writable = await isWritable(db);
      const ages = await dueAges(db);
      const { running, silentMs = null, runMsAgo = null } = await workersOf(db);
      const trusted = db.access?.trustsServer === true ? ', with fsync off (`durability: "server"`)' : "";
      const detail = writable ? `the database accepts writes${trusted}` : "the database is read-only";
      return (stuckAfterMs) => {
        // One check per part, because progress in one part says nothing about another.
        const due = Object.entries(ages).map(([part, ageMs]) => ({
          name: `due ${part}`,
          ok: ageMs < stuckAfterMs,
          detail: `the oldest has waited for ${duration(ageMs)}`,
        }));
        const checks = [{ name: "database", ok: writable, detail }, ...due];
        return { workers: running, silentMs, runMsAgo, checks };
      };
    } catch {
      return () => noAnswer("the database does not answer");
    }
  }
}

/** A worker is ready while it works: one that has not begun, or that stops, is not. */
export function workerReadiness({ workers, checks }: Pick<Found, "workers" | "checks">): WorkerReadiness {
  const isRunning = checks.some(({ name }) => name === "worker");
  const all = isRunning ? checks : [...checks, notReady("is not running yet")];
  return { ready: all.every(({ ok }) => ok), workers, checks: all };
}

/** What a worker says that stops: nothing else is asked. */
export const STOPPING: WorkerReadiness = { ready: false, workers: null, checks: [notReady("is stopping")] };

function notReady(detail: string): ReadinessCheck {
  return { name: "worker", ok: false, detail };
}

function noAnswer(detail: string): Found {
  return { workers: null, silentMs: null, runMsAgo: null, checks: [{ name: "database", ok: false, detail }] };
}

export function workerCheck(
  { hasWorked, answeredMsAgo, failing }: WorkerHealth,
  stuckAfterMs: number,
): ReadinessCheck {
  const name = "worker";
  if (failing.length > 0) {
    const list = failing.map(({ duty, operation, error }) => `${operation} ${duty}: ${error}`);
    return { name, ok: false, detail: `its last attempts failed (${list.join(", ")})` };
  }
  if (!hasWorked) return { name, ok: false, detail: "has not looked for work yet" };
  const detail = `last looked for work ${duration(answeredMsAgo)} ago`;
  return { name, ok: answeredMsAgo < stuckAfterMs, detail };
}

/** `7 s`, `24 m 56 s`, `5 h 12 m`: as the pages and the command line show durations. */
function duration(ms: number): string {
  const whole = Math.round(ms / 1_000);
  const [hours, minutes, seconds] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  const parts =
    hours > 0
      ? [
          [hours, "h"],
          [minutes, "m"],
        ]
      : minutes > 0
        ? [
            [minutes, "m"],
            [seconds, "s"],
          ]
        : [];
  const shown = parts.filter(([count]) => count !== 0).map(([count, unit]) => `${count} ${unit}`);
  return shown.length === 0 ? `${seconds} s` : shown.join(" ");
}
