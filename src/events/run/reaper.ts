/** Finds the runs whose time is up and turns them back, without anybody asking. */
import { errorLabel } from "../../core/errors.ts";
import type { FlowEvent } from "../../core/flow/decide.ts";
import { SUPERSEDED, outboxMachine } from "../../core/outbox/machine.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Duty, Leaving } from "../../runtime/duty.ts";
import type { RunRecord } from "./delivery.ts";
import type { EventEngine } from "./engine.ts";
import { selectAwaited, selectExpired } from "../store/queries.ts";
import { toRun, trailOf } from "../store/rows.ts";

const BATCH = 100;
/** It holds no leases. */
const NEVER_MS = 3_600_000;

export interface ReaperOptions {
  readonly engine: EventEngine;
  readonly dialect: Dialect;
  readonly clock: Clock;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export class Reaper implements Duty {
  readonly name: string = "events:deadlines";
  readonly capacity: number = BATCH;
  readonly renewEveryMs: number = NEVER_MS;
  readonly #options: ReaperOptions;
  #isOpen = false;
  #sweep: Promise<unknown> = Promise.resolve();

  constructor(options: ReaperOptions) {
    this.#options = options;
  }

  get room(): number {
    return this.#isOpen ? BATCH : 0;
  }

  accept(capacity: number): void {
    this.#isOpen = capacity > 0;
  }

  async renew(): Promise<void> {
    // Nothing is held between two looks.
  }

  async drain(): Promise<void> {
    this.#isOpen = false;
    await this.#sweep.catch(() => undefined);
  }

  claim(limit: number = BATCH): Promise<readonly Leaving[]> {
    const sweep = this.#look(limit);
    this.#sweep = sweep;
    return sweep;
  }

  async #look(limit: number): Promise<readonly Leaving[]> {
    const { engine, dialect, clock } = this.#options;
    const rows = await engine.store.query(selectExpired(dialect, limit));
    const hereMs = clock.monotonicMs();
    let turned = 0;
    for (const row of rows) if (await this.#turn(toRun(row, hereMs), trailOf(row))) turned++;
    if (turned > 0) engine.pool.dueIn(0);
    return Array.from({ length: turned }, () => ({ gone: Promise.resolve() }));
  }

  /** True where the run turned back now; another process, or an answer in the very moment, may have been first. */
  async #turn(run: RunRecord, trail: readonly string[]): Promise<boolean> {
    const { engine, dialect } = this.#options;
    const step = engine.registry.saga(run.sagaType)?.steps[run.state.currentStep];
    if (!step) return false; // a saga that this process does not know is left to whoever does
    const [row] = await engine.store.query(selectAwaited(dialect, trail, step.handler.name));
    const delivery = conditionOf(row);
    try {
      const decided = engine.orchestrator.steer(run, { kind: "deadline", delivery });
      if (!decided) return false;
      // What nobody is working on must not begin any more; what runs is waited for.
      const stopped = row && delivery !== "running" ? claimOf(row) : undefined;
      return await engine.store.steer({
        delivery: stopped,
        to: SUPERSEDED,
        error: "DeadlinePassed",
        ...decided,
      });
    } catch (error) {
      const fields = { saga: run.sagaType, id: run.sagaId, error: errorLabel(error) };
      this.#options.warn(fields, "amends: a run whose time is up could not be turned back; trying again");
      return false;
    }
  }
}

function conditionOf(row: Row | undefined): Extract<FlowEvent, { kind: "deadline" }>["delivery"] {
  if (!row) return "doubtful";
  const isHeld = row["status"] === outboxMachine.target("pending", "claim");
  if (isHeld && Number(row["leased"]) === 1) return "running";
  // Every claim raises the token, also one that is not counted because it was given back or only waited.
  return Number(row["token"]) === 0 ? "unbegun" : "doubtful";
}

function claimOf(row: Row): { readonly id: string; readonly token: number } {
  return { id: row["entry_id"] as string, token: Number(row["token"]) };
}
