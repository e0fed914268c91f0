/**
 * Runs one saga without a database and without leases: the lines go into a log in memory. It is the second
 * implementation of the host port, with the same driver as on a database.
 */
import { AmendsError } from "../../core/errors.ts";
import type { CallCommand } from "../../core/saga/interpreter.ts";
import type { Arrival } from "../../core/saga/steps/wait.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type {
  SagaHost,
  Lines,
  Pending,
  PendingCall,
  Recorded,
  StepSettings,
} from "../../sagas/driver/saga-host.ts";
import { Run } from "../../sagas/driver/run.ts";
import { StepCalls, type StepCallTools } from "../../sagas/engine/step-calls.ts";
import type { SagaRecord } from "../../sagas/journal/journal.ts";
import type { MemorySaga } from "./saga.ts";

export class MemoryHost implements SagaHost {
  readonly run: Run;
  /** A host in memory is never shut down: its process ends. */
  readonly isDraining = false;
  readonly isPaused = false;
  readonly #saga: MemorySaga;
  readonly #tools: StepCallTools;
  readonly #calls: StepCalls;
  readonly #token: number;
  #version: number;

  /** `record`: the saga as it was claimed for this host. */
  constructor(tools: StepCallTools, saga: MemorySaga, record: SagaRecord, definition: AnySaga) {
    this.run = new Run(record, definition, tools.clock.monotonicMs());
    this.#saga = saga;
    this.#tools = tools;
    this.#token = record.token;
    this.#version = record.version;
    const refuse = (what: string) => (): Promise<never> =>
      Promise.reject(new AmendsError("NOT_SUPPORTED", `${what} needs a database; this saga runs in memory.`));
    this.#calls = new StepCalls(
      tools,
      this.run,
      { stopReason: undefined },
      {
        inTransaction: refuse("A transactional step"),
        child: refuse("A child saga"),
      },
    );
  }

  nowMs(): number {
    return this.#tools.clock.monotonicMs();
  }

  get interruption(): "changed" | "lost" | undefined {
    if (this.#saga.token !== this.#token) return "lost";
    return this.#saga.version === this.#version ? undefined : "changed";
  }

  /** A host in memory has no log. */
  warn(): void {}

  settings(step: string): StepSettings {
    return this.run.step(step);
  }

  call(command: CallCommand): PendingCall {
    return this.#calls.make(command);
  }

  until(pendings: readonly Pending<unknown>[], ms?: number): Promise<void> {
    return this.#calls.until(pendings, ms);
  }

  async record(lines: Lines): Promise<Recorded> {
    if (this.interruption) return this.reread();
    this.#saga.append(lines, this.nowMs(), this.run.progress);
    this.#version = this.#saga.version;
    this.run.accept(lines, this.nowMs());
    return lines.rest ? "left" : "held";
  }

  async reread(): Promise<"changed" | "lost"> {
    if (this.interruption === "lost") return "lost";
    const { version, state, nowMs } = this.#saga.read(this.nowMs());
    this.#version = version;
    this.run.adopt(state, nowMs, nowMs);
    return "changed";
  }

  async arrivals(): Promise<readonly Arrival[]> {
    return [...this.#saga.arrivals];
  }

  /** A line was added from outside: running calls are aborted, and the driver reads the saga again. */
  interrupt(): void {
    this.#calls.stop("cancelled");
  }
}
