/**
 * A saga as the storage contract changes it. All checks and changes happen in memory, so a refused change has no
 * effect, and one commit writes the result. If another run changed the saga in the meantime, nothing is written.
 */
import { AmendsError, SagaConcurrencyError } from "../core/errors.ts";
import { checkId, checkName, isWellFormed, type Direction } from "../core/identity.ts";
import { BYTES_MAX, encodeJson } from "../core/json.ts";
import type { EntryStatus, Mark } from "../core/saga/entry.ts";
import { sagaMachine, type SagaStatus } from "../core/saga/machine.ts";
import type { Row } from "../storage/database.ts";
import { mayBecome, type SagaContext, type SagaLogEntry, type StoredSagaState } from "./contract.ts";
import type { LogEntry } from "../sagas/journal/journal.ts";
import { resultsOf } from "../sagas/view/outcome.ts";
import { toLogEntry, toRecord } from "../sagas/journal/rows.ts";

const STEP_MAX = 255;

export class PendingSaga {
  readonly id: string;
  readonly name: string;
  /** The version in the database; 0 if the saga is not in the database yet. */
  readonly base: number;
  status: SagaStatus;
  context: string;
  version: number;
  recoveryAttempts: number;
  readonly #row: Row;
  readonly #entries: LogEntry[];

  private constructor(row: Row, entries: readonly LogEntry[], base: number) {
    this.#row = row;
    this.#entries = [...entries];
    this.id = row["id"] as string;
    this.name = row["name"] as string;
    this.base = base;
    this.status = row["status"] as SagaStatus;
    this.context = row["context"] as string;
    this.version = Number(row["version"]);
    this.recoveryAttempts = Number(row["recovery_attempts"]);
  }

  /** A saga that was loaded without its lines can be changed, but has no history to return. */
  static of(row: Row, lines: readonly Row[] = []): PendingSaga {
    return new PendingSaga(row, lines.map(toLogEntry), Number(row["version"]));
  }

  static create(sagaId: string, name: string, context: SagaContext, nowMs: number): PendingSaga {
    const id = checkId(sagaId, "The id of a saga");
    checkName(name, "A saga's name");
    const state = { status: "PENDING", context: encodeContext(context), version: 1, recovery_attempts: 0 };
    return new PendingSaga({ id, name, ...state, plan: "", now_at: nowMs }, [], 0);
  }

  /** The engine runs this saga: its state is derived from its log, and a foreign line would break it. */
  get isEngines(): boolean {
    return this.#row["plan"] !== "";
  }

  /** Lines that are not in the database yet. */
  get added(): readonly LogEntry[] {
    return this.isEngines ? [] : this.#entries.filter((entry) => entry.id > this.base);
  }

  get state(): StoredSagaState {
    const context = JSON.parse(this.context) as SagaContext;
    if (!this.isEngines) return { status: this.status, context, version: this.version };
    const { state, version } = toRecord(this.#row, this.#entries);
    return { status: this.status, context: { ...context, results: resultsOf(state) }, version };
  }

  /** Numbered from 1. A line of the engine that also begins a call is two entries. */
  get history(): readonly SagaLogEntry[] {
    const history: SagaLogEntry[] = [];
    const add = ({ step, action }: Mark, status: EntryStatus, details: string | null, at: unknown): void => {
      const createdAt = new Date(Number(at ?? this.#row["now_at"]));
      const entry = { id: history.length + 1, sagaId: this.id, stepName: step, action };
      history.push({ ...entry, status, details, createdAt });
    };
    const first = this.isEngines ? toRecord(this.#row, []) : undefined;
    if (first?.begun && first.plan[0]) {
      add({ step: first.plan[0].name, action: "act" }, "STARTED", null, first.createdAtMs);
    }
    for (const entry of this.#entries) {
      add(entry, entry.status, entry.details, entry.atMs);
      if (entry.next) add(entry.next, "STARTED", null, entry.atMs);
    }
    return history;
  }

  updateContext(context: SagaContext, currentVersion?: number): void {
    const text = encodeContext(context);
    if (currentVersion !== undefined && currentVersion !== this.version) {
      throw new SagaConcurrencyError(this.id, currentVersion, this.version);
    }
    this.#change();
    this.context = text;
  }

  updateStatus(status: SagaStatus): void {
    if (!mayBecome(this.status, status)) {
      throw refuse("NOT_ALLOWED_NOW", `A saga that is ${this.status} cannot become ${status}.`, this.id);
    }
    this.#change();
    this.status = status;
  }

  logStep(step: string, action: Direction, status: EntryStatus, details: string | null = null): void {
    checkId(step, "The name of a step", STEP_MAX);
    if (details !== null) checkDetails(details);
    this.#change();
    this.#entries.push({ id: this.version, token: 0, step, action, status, details });
  }

  /** `forClaims`: the caller changes only which claims take the saga, so that it may be the engine's. */
  setRecoveryAttempts(attempts: number, forClaims: boolean = false): void {
    if (!Number.isInteger(attempts) || attempts < 0) {
      throw refuse("BAD_OPTION", "Recovery attempts are a whole number, 0 or more.", this.id);
    }
    this.#change(forClaims);
    this.recoveryAttempts = attempts;
  }

  #change(forClaims: boolean = false): void {
    if (this.isEngines && !forClaims) {
      const advice = "Use `amends.cancel`, `retry`, `skip` or `resolve`.";
      throw refuse(
        "NOT_SUPPORTED",
        `Amends runs this saga; the storage cannot change it. ${advice}`,
        this.id,
      );
    }
    if (sagaMachine.isTerminal(this.status)) {
      throw refuse("NOT_ALLOWED_NOW", `The saga is ${this.status}: it has ended and cannot change.`, this.id);
    }
    this.version += 1;
  }
}

function refuse(
  code: "BAD_OPTION" | "NOT_ALLOWED_NOW" | "NOT_SUPPORTED",
  text: string,
  id: string,
): AmendsError {
  return new AmendsError(code, text, { id });
}

function checkDetails(details: string): void {
  if (details.includes("\0") || !isWellFormed(details) || details.length > BYTES_MAX) {
    throw new AmendsError(
      "BAD_INPUT",
      `The details of a step must be at most ${BYTES_MAX} characters of well-formed text without NUL.`,
    );
  }
}

function encodeContext(context: SagaContext): string {
  if (typeof context !== "object" || context === null || Array.isArray(context)) {
    throw new AmendsError("BAD_JSON", "The context of a saga must be an object.");
  }
  return encodeJson(context, { field: "The context of a saga" }) ?? "{}";
}
