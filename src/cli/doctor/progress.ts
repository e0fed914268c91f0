/** Checks progress: clocks, workers, due work, and open sagas that this config does not register. */
import { dueSagas, openKinds } from "../../sagas/read/figures.ts";
import { orphanedLines } from "../../sagas/lost/lost.ts";
import { HEARD_MS, workersOf, type Workers } from "../../operate/workers.ts";
import { readNowMs } from "../../storage/database-time.ts";
import { unservedHandlers } from "../../events/subscriptions/operators.ts";
import { overdueSchedules } from "../../schedules/read/figures.ts";
import type { Database } from "../../storage/database.ts";
import { readOldest } from "../../storage/read/selection.ts";
import type { AmendsConfig } from "../config/config.ts";
import { ok, warn, wrong, type Finding } from "./finding.ts";
import { many, span } from "../terminal/words.ts";
import { RUN_LATE_MS, RUNS_ADVICE, runsText, SILENT_ADVICE, silenceText } from "../terminal/silence.ts";

const STUCK_MS = 60_000;
const COUNT_MAX = 5_000;
const CLOCK_WARN_MS = 1_000;
/** Receivers of webhooks refuse what is signed further away. */
const CLOCK_WRONG_MS = 300_000;

/** Half of the round trip is as close as one can say. */
export async function clockOf(db: Database, nowMs: () => number): Promise<Finding> {
  const before = nowMs();
  const there = await readNowMs(db);
  const after = nowMs();
  const difference = Math.abs(there - (before + after) / 2);
  const detail = `this machine and the database differ by ${span(Math.max(0, difference - (after - before) / 2))}`;
  const advice =
    "Leases go by the database's clock alone, so nothing runs twice; but times shown here and signatures of webhooks go by this machine's. Turn on NTP.";
  if (difference > CLOCK_WRONG_MS) return wrong("clock", detail, advice);
  return difference > CLOCK_WARN_MS + (after - before) ? warn("clock", detail, advice) : ok("clock", detail);
}

export async function progressOf(
  db: Database,
  config: AmendsConfig | undefined,
): Promise<readonly Finding[]> {
  const { oldestMs, due } = await dueSagas(db, COUNT_MAX);
  const waiting =
    due.value === 0
      ? "nothing is due"
      : `${due.value}${due.exact ? "" : "+"} due, the oldest for ${span(oldestMs)}`;
  const workers = await workersOf(db);
  // The runs of a cron job take what became due before the last one began.
  const graceMs = workers.running === 0 ? (workers.runMsAgo ?? 0) : 0;
  const progress =
    oldestMs > STUCK_MS + graceMs
      ? wrong(
          "progress",
          waiting,
          "Start a worker, or more of them (amends worker), with the sagas that wait.",
        )
      : ok("progress", waiting);
  return [workersFinding(workers, oldestMs), progress, ...(await strangersOf(db, config))];
}

const OVERDUE_SHOWN = 20;

/** Schedules whose tick no worker has processed for a time. */
export async function schedulesOf(db: Database): Promise<Finding> {
  const found = await readOldest(db, overdueSchedules, OVERDUE_SHOWN + 1);
  if (found.length === 0) return ok("schedules", "no tick is overdue");
  const shown = found.slice(0, OVERDUE_SHOWN).map(({ record: { name, saga, version, isServed } }) => {
    const why = isServed ? "" : `, which no running worker has`;
    return `${name} (saga ${saga}@${version}${why})`;
  });
  const more = found.length > OVERDUE_SHOWN ? " and more" : "";
  return wrong(
    "schedules",
    `ticks that no worker has started: ${shown.join(", ")}${more}`,
    "Run a worker that has these sagas, put the schedules with a version that workers have, or pause them: amends pause NAME",
  );
}

const HANDLERS_SHOWN = 20;

/** Registered handlers of events that no worker has, and for which something waits. */
export async function handlersOf(db: Database): Promise<Finding> {
  const found = await readOldest(db, unservedHandlers, HANDLERS_SHOWN + 1);
  if (found.length === 0) return ok("handlers", "nothing waits for a handler without a process");
  const shown = found
    .slice(0, HANDLERS_SHOWN)
    .map(({ record: { handler, event, backlog } }) => `${handler} (${backlog} ${event})`);
  const more = found.length > HANDLERS_SHOWN ? " and more" : "";
  return wrong(
    "handlers",
    `events wait for handlers that no running worker has: ${shown.join(", ")}${more}`,
    "Run a worker that has these handlers, or retire those that are gone for good: amends retire HANDLER",
  );
}

function workersFinding({ running, runMsAgo, seenMsAgo, silentMs = 0 }: Workers, oldestMs: number): Finding {
  if (running > 0) {
    const detail = `${many(running, "worker")} running${silenceText(running, silentMs)}`;
    return silentMs < HEARD_MS ? ok("workers", detail) : warn("workers", detail, SILENT_ADVICE);
  }
  if (runMsAgo !== undefined) {
    const detail = runsText(runMsAgo);
    return oldestMs > RUN_LATE_MS ? warn("workers", detail, RUNS_ADVICE) : ok("workers", detail);
  }
  const last = seenMsAgo === undefined ? "none has ever run here" : `the last one ran ${span(seenMsAgo)} ago`;
  return warn("workers", `no worker is running; ${last}`, "Nothing is processed without one: amends worker");
}

const ORPHANED_SHOWN = 20;

/** Lines without a saga are found only by a look at the whole log. */
export async function orphanedOf(db: Database): Promise<Finding> {
  const found = await orphanedLines(db, ORPHANED_SHOWN + 1);
  if (found.length === 0) return ok("log", "every line belongs to a saga");
  const shown = found
    .slice(0, ORPHANED_SHOWN)
    .map(({ sagaId, lines }) => `${sagaId} (${many(lines, "line")})`);
  const more = found.length > ORPHANED_SHOWN ? " and more" : "";
  return wrong(
    "log",
    `lines without a saga: ${shown.join(", ")}${more}`,
    "The database went back in time beside running workers. Do not start these ids again before you have followed docs/guides/failover.md.",
  );
}

/** Open sagas that this config would leave alone. */
async function strangersOf(db: Database, config: AmendsConfig | undefined): Promise<readonly Finding[]> {
  if (!config) return [];
  const known = new Set((config.sagas ?? []).map(({ name, version }) => `${name}@${version}`));
  const kinds = (await openKinds(db)).map(({ name, version, sagas }) => ({
    kind: `${name}@${version}`,
    sagas,
  }));
  const unknown = kinds.filter(({ kind }) => !known.has(kind));
  if (unknown.length === 0) return [ok("definitions", "the config knows every saga that is open")];
  const listed = unknown.map(({ kind, sagas }) => `${many(sagas, "saga")} of ${kind}`).join(", ");
  return [
    warn(
      "definitions",
      `open, and not in this config: ${listed}`,
      "A worker with this config leaves them alone. Add the definition, or run one that has it.",
    ),
  ];
}
