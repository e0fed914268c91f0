/**
 * The one commit after a call: the end of the job, the attempt, the new state of the delivery and the dead letter, for
 * all results that have gathered. A process that runs the orchestrator applies its results in that commit. A process
 * that only sends leaves them on their jobs, and the orchestrator applies them by the same decision.
 */
import type { DatabaseWatch } from "../../storage/retry.ts";
import type { JobReport, Verdict } from "../../core/delivery/job.ts";
import { checkedWrite } from "../../storage/write/checked-write.ts";
import type { Database, Row } from "../../storage/database.ts";
import type { RefusedWrites } from "../../storage/write/refused-writes.ts";
import { runTogether } from "../../storage/named-batch.ts";
import { OutcomeWriter } from "../../runtime/outcome-writer.ts";
import { insertLetters } from "../dead-letters/queries.ts";
import { insertAttempts, selectVerdicts, VERDICT } from "./attempt-queries.ts";
import { SETTLED, settleJobs } from "./job-queries.ts";
import { NOTED } from "./lane-queries.ts";
import type { Decided, Orchestrator } from "./orchestrator.ts";

/** The orchestrator as a process has it, and what the process does after results were applied. */
export interface Applying {
  readonly orchestrator: Orchestrator;
  /** Something is due now, or in `ms` milliseconds. */
  readonly onDue: (ms: number) => void;
  /** A subscription is to be disabled. */
  readonly onDisable: () => void;
  readonly onDead: (deliveryIds: readonly string[]) => void;
}

export interface ResultWriterOptions {
  readonly db: Database;
  readonly signal: AbortSignal;
  readonly watch: DatabaseWatch;
  readonly onRefused?: (refused: RefusedWrites) => void;
  /** Undefined: results stay on their jobs until an orchestrator applies them. */
  readonly applying: Applying | undefined;
}

/** From this many waiting results on, a second commit runs beside the first. */
const PARALLEL_FROM = 64;
const BYTES_BESIDES = 500;

export class ResultWriter {
  readonly #options: ResultWriterOptions;
  readonly #writer: OutcomeWriter<JobReport, Verdict>;

  constructor(options: ResultWriterOptions) {
    this.#options = options;
    this.#writer = new OutcomeWriter<JobReport, Verdict>({
      db: options.db,
      signal: options.signal,
      parallelFrom: PARALLEL_FROM,
      watch: options.watch,
      onRefused: (refused) => options.onRefused?.(refused),
      bytes: ({ attempt }) => (attempt.responseBody?.length ?? 0) + BYTES_BESIDES,
      write: (reports) => this.#write(reports),
    });
  }

  /** Resolves once the result is durable, with its verdict. */
  write(report: JobReport): Promise<Verdict> {
    return this.#writer.submit(report);
  }

  drained(): Promise<void> {
    return this.#writer.drained();
  }

  async #write(reports: readonly JobReport[]): Promise<readonly Verdict[]> {
    const { db, applying } = this.#options;
    const decided = applying?.orchestrator.decide(reports);
    const verdicts = await checkedWrite<JobReport, Verdict>(db.dialect, {
      items: reports,
      checked: async () => {
        const settled =
          applying && decided ? settleAndApply(db, applying, reports, decided) : settle(db, reports);
        return accepted(reports, await settled);
      },
      // Also one whose commit had succeeded when its answer was lost: it is on record as accepted.
      findWritten: (missing) => verdictsOn(db, missing),
      lost: "foreign",
    });
    const exhausted = new Set(decided?.exhausted);
    const dead = reports
      .filter((_, index) => verdicts[index] === "accepted")
      .map(({ job }) => job.deliveryId)
      .filter((id) => exhausted.has(id));
    if (dead.length > 0) applying?.onDead(dead);
    return verdicts;
  }
}

/** Nothing waits for an answer before the next statement: what counts is decided by the rows themselves. */
async function settleAndApply(
  db: Database,
  applying: Applying,
  reports: readonly JobReport[],
  decided: Decided,
): Promise<readonly Row[]> {
  const { dialect } = db;
  const { exhausted } = decided;
  const rows = await runTogether(db, {
    settled: settleJobs(dialect, reports.toSorted(byJob), false),
    ...applying.orchestrator.apply(dialect, reports, decided),
    letters: exhausted.length > 0 ? insertLetters(dialect, exhausted) : undefined,
    recorded: insertAttempts(dialect, reports),
  });
  announce(applying, decided, rows);
  return rows.settled;
}

async function settle(db: Database, reports: readonly JobReport[]): Promise<readonly Row[]> {
  const { dialect } = db;
  const { settled } = await runTogether(db, {
    settled: settleJobs(dialect, reports.toSorted(byJob), true),
    recorded: insertAttempts(dialect, reports),
    notified: dialect.notify(),
  });
  return settled;
}

/** After the commit that applied these results. */
export function announce(
  { onDue, onDisable }: Applying,
  { soonestMs }: Decided,
  { failures, behind }: Readonly<Record<"failures" | "behind", readonly Row[]>>,
): void {
  if (behind.length > 0) onDue(0);
  else if (soonestMs !== undefined) onDue(soonestMs);
  if (failures.some((row) => NOTED.read(row).disableReason !== undefined)) onDisable();
}

type Verdicts = readonly (Verdict | undefined)[];

function accepted(reports: readonly JobReport[], settled: readonly Row[]): Verdicts {
  const now = new Set(settled.map((row) => SETTLED.read(row).report));
  return reports.map(({ report }) => (now.has(report) ? "accepted" : undefined));
}

async function verdictsOn(db: Database, reports: readonly JobReport[]): Promise<Verdicts> {
  const rows = await db.query(selectVerdicts(db.dialect, reports));
  const found = new Map(rows.map((row) => VERDICT.read(row)).map((one) => [one.report, one.verdict]));
  return reports.map(({ report }) => found.get(report));
}

/** Every process locks rows in this order. */
function byJob(a: JobReport, b: JobReport): number {
  return Number(a.job.id) - Number(b.job.id);
}
