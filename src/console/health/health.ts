/**
 * Readiness means progress: a process that answers but makes no progress is not ready. The database must answer within
 * a limit and accept writes, the oldest due work must not have waited too long, and the worker of this process must
 * claim.
 */
import type { Health } from "../contract.ts";
import type { ConsoleContext } from "../context.ts";
import { dueAges } from "../../operate/backlog.ts";
import { workersOf } from "../../operate/workers.ts";
import { within } from "../../storage/clock.ts";
import { isWritable } from "../../storage/read/writable.ts";

type Check = NonNullable<Health["checks"]>[number];
type WorkerHealth = NonNullable<ReturnType<ConsoleContext["amends"]["context"]["workerHealth"]>>;

export interface Found {
  readonly workers: number | null;
  readonly silentMs: number | null;
  readonly runMsAgo: number | null;
  readonly checks: readonly Check[];
}

/** How long the database may take to answer. */
const ANSWER_MS = 2_000;

export class Readiness {
  readonly #context: ConsoleContext;
  readonly #stuckAfterMs: number;
  /** A database that hangs is not asked a second time meanwhile. */
  #underWay: Promise<Found> | undefined;

  constructor(context: ConsoleContext, stuckAfterMs: number) {
    this.#context = context;
    this.#stuckAfterMs = stuckAfterMs;
  }

  async look(): Promise<Found> {
    const { db, amends } = this.#context;
    this.#underWay ??= this.#askDatabase().finally(() => (this.#underWay = undefined));
    let found = noAnswer(`the database has not answered within ${duration(ANSWER_MS)}`);
    await within(
      db.clock,
      ANSWER_MS,
      this.#underWay.then((answer) => (found = answer)),
    );
    const health = amends.context.workerHealth();
    if (!health) return found;
    return { ...found, checks: [...found.checks, workerCheck(health, this.#stuckAfterMs)] };
  }

  /** Asked once, without retries: a health check reports trouble and does not wait for its end. */
  async #askDatabase(): Promise<Found> {
    const { db } = this.#context;
    try {
      const writable = await isWritable(db);
      const ages = await dueAges(db);
      const { running, silentMs = null, runMsAgo = null } = await workersOf(db);
      const trusted = db.access?.trustsServer === true ? ', with fsync off (`durability: "server"`)' : "";
      const detail = writable ? `the database accepts writes${trusted}` : "the database is read-only";
      // One check per part, because progress in one part says nothing about another.
      const due = Object.entries(ages).map(([part, ageMs]) => ({
        name: `due ${part}`,
        ok: ageMs < this.#stuckAfterMs,
        detail: `the oldest has waited for ${duration(ageMs)}`,
      }));
      const checks = [{ name: "database", ok: writable, detail }, ...due];
      return { workers: running, silentMs, runMsAgo, checks };
    } catch {
      return noAnswer("the database does not answer");
    }
  }
}

function noAnswer(detail: string): Found {
  return { workers: null, silentMs: null, runMsAgo: null, checks: [{ name: "database", ok: false, detail }] };
}

function workerCheck({ hasWorked, answeredMsAgo, failing }: WorkerHealth, stuckAfterMs: number): Check {
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
