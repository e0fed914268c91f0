/** Finds runs that are past their deadline and starts their compensation. */
import { isOutage, errorLabel } from "../../core/errors.ts";
import type { FlowEvent } from "../../core/flow/decide.ts";
import { HELD } from "../../core/outbox/machine.ts";
import { AWAITED, selectAwaited, type AwaitedDelivery } from "../../outbox/deliveries/claim-queries.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Duty, Leaving } from "../../runtime/duty.ts";
import type { RunRecord } from "./outcome.ts";
import type { EventEngine } from "./engine.ts";
import { selectExpired } from "../store/run-queries.ts";
import { STORED_RUN, toRun, trailOf } from "../store/run-row.ts";

const BATCH = 100;
/** The reaper holds no leases. */
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

  /** The reaper holds nothing between two polls. */
  async renew(): Promise<boolean> {
    return false;
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
    for (const run of rows.flatMap((row) => STORED_RUN.tryRead(row) ?? []))
      if (await this.#turn(toRun(run, hereMs), trailOf(run))) turned++;
    if (turned > 0) engine.pool.dueIn(0);
    return Array.from({ length: turned }, () => ({ gone: Promise.resolve() }));
  }

  /** True if this call started the compensation; another process or a concurrent answer may have been first. */
  async #turn(run: RunRecord, trail: readonly string[]): Promise<boolean> {
    const { engine, dialect } = this.#options;
    const step = engine.registry.saga(run.sagaType)?.steps[run.state.currentStep];
    if (!step) return false; // a process that knows this saga handles it
    const [row] = await engine.store.query(selectAwaited(dialect, trail, step.handler.name));
    const awaited = row && AWAITED.read(row);
    const delivery = conditionOf(awaited);
    try {
      const decided = await engine.decider.steer(run, { kind: "deadline", delivery });
      if (!decided) return false;
      // An unclaimed delivery is superseded; a running handler is waited for.
      const { move, out } = decided;
      if (!awaited || delivery === "running") return await engine.store.move(move, out);
      return await engine.store.supersede(awaited, "DeadlinePassed", move, out);
    } catch (error) {
      if (isOutage(error)) throw error;
      const fields = { saga: run.sagaType, id: run.sagaId, error: errorLabel(error) };
      this.#options.warn(fields, "amends: a run past its deadline could not be compensated; trying again");
      return false;
    }
  }
}

function conditionOf(
  awaited: AwaitedDelivery | undefined,
): Extract<FlowEvent, { kind: "deadline" }>["delivery"] {
  if (!awaited) return "doubtful";
  if (HELD.includes(awaited.status) && awaited.isLeased) return "running";
  // Every claim raises the token, also one that does not count as an attempt.
  return awaited.token === 0 ? "unbegun" : "doubtful";
}
