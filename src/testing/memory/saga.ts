/**
 * One saga in memory: its log, its owner and its due time. It outlives its hosts, as database rows outlive a
 * process. Every claim rebuilds the state from the log, as after a crash.
 */
import { claimCount, claimToken } from "../../core/claim-token.ts";
import { evolve } from "../../core/saga/evolve.ts";
import type { Entry } from "../../core/saga/entry.ts";
import { CLAIMABLE } from "../../core/saga/machine.ts";
import { encodeProgress, openProgress, type Progress } from "../../core/saga/progress.ts";
import { initial } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/steps/wait.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { throughSchema } from "../../sagas/define/input.ts";
import type { Lines } from "../../sagas/driver/saga-host.ts";
import { claimLines } from "../../sagas/journal/claim/take-over.ts";
import {
  OPERATOR_TOKEN,
  type Emission,
  type LogEntry,
  type SagaRecord,
} from "../../sagas/journal/journal.ts";

export class MemorySaga {
  readonly emissions: Emission[] = [];
  readonly arrivals: Arrival[] = [];
  readonly #created: Pick<SagaRecord, "id" | "name" | "definition" | "plan" | "createdAtMs" | "deadlineAtMs">;
  /** As JSON: no host shares objects with another. */
  readonly #input: string;
  readonly #entries: LogEntry[] = [];
  #token = 0;
  #recoveryAttempts = 0;
  #isHeld = false;
  #dueAtMs: number | undefined;
  #progress: string | undefined;

  private constructor(id: string, definition: AnySaga, input: string, nowMs: number) {
    const { name, version, plan, settings } = definition;
    const { deadlineMs } = settings;
    const deadlineAtMs = deadlineMs === undefined ? undefined : nowMs + deadlineMs;
    this.#created = { id, name, definition: version, plan, createdAtMs: nowMs, deadlineAtMs };
    this.#input = input;
    this.#dueAtMs = nowMs;
  }

  /** Starts a saga: it is due at once. */
  static async start(id: string, definition: AnySaga, input: unknown, nowMs: number): Promise<MemorySaga> {
    const field = `The input of saga ${definition.name}`;
    return new MemorySaga(
      id,
      definition,
      await throughSchema(definition.schema, input, field, "(input)"),
      nowMs,
    );
  }

  get version(): number {
    return 1 + this.#entries.length;
  }

  get token(): number {
    return this.#token;
  }

  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /** When the saga can be claimed; undefined if a host owns it, or it has ended or stalled. */
  get dueAtMs(): number | undefined {
    return this.#dueAtMs;
  }

  /** The state of the saga, rebuilt from its log. */
  read(nowMs: number): SagaRecord {
    const { plan, createdAtMs } = this.#created;
    return {
      ...this.#created,
      input: JSON.parse(this.#input) as unknown,
      begun: false,
      version: this.version,
      token: this.#token,
      owner: this.#isHeld ? OWNER : undefined,
      recoveryAttempts: this.#recoveryAttempts,
      priority: 0,
      runAtMs: undefined,
      attributes: undefined,
      epoch: 0,
      nowMs,
      updatedAtMs: this.#entries.at(-1)?.atMs ?? createdAtMs,
      dueAtMs: this.#dueAtMs,
      progress: this.#progress,
      entries: [...this.#entries],
      state: this.#entries.reduce(evolve, initial(plan, false, createdAtMs)),
    };
  }

  /** Claims the saga, even from its current host: such a claim counts as a recovery. */
  claim(nowMs: number): SagaRecord {
    if (this.#isHeld) this.#recoveryAttempts++;
    const lines = claimLines(this.read(nowMs), OWNER, this.#token > 0);
    this.#token = claimToken(claimCount(this.#token) + 1, 0);
    this.#isHeld = true;
    this.#dueAtMs = undefined;
    this.#push(lines, this.#token, nowMs);
    return this.read(nowMs);
  }

  /** The host died without releasing the saga: it can be claimed from this instant on. */
  abandon(dueAtMs: number): void {
    if (this.#isHeld) this.#dueAtMs = dueAtMs;
  }

  /** Appends lines of the saga's host, with what its calls have reported. */
  append(
    { entry, more = [], emissions, state, rest }: Lines,
    nowMs: number,
    progress: Progress | undefined,
  ): void {
    const lines = [entry, ...more];
    if (progress) this.#progress = encodeProgress(openProgress(state, progress)) ?? undefined;
    this.#push(lines, this.#token, nowMs);
    this.emissions.push(...emissions);
    // The saga made progress: reset its recovery budget.
    if (lines.some(({ step, status }) => status === "COMPLETED" && !step.startsWith("$")))
      this.#recoveryAttempts = 0;
    const isOpen = CLAIMABLE.includes(state.status);
    if (isOpen && !rest) return;
    this.#isHeld = false;
    this.#dueAtMs = isOpen && rest ? nowMs + rest.releaseMs : undefined;
  }

  /** Appends a line from outside the host: a cancel, for example. */
  appendByOperator(entry: Entry, nowMs: number): void {
    this.#push([entry], OPERATOR_TOKEN, nowMs);
    if (!this.#isHeld) this.#dueAtMs = nowMs;
  }

  #push(lines: readonly Entry[], token: number, atMs: number): void {
    for (const line of lines) this.#entries.push({ ...line, id: this.version + 1, token, atMs });
  }
}

/** The name of every host: there is one process. */
const OWNER = "memory";
