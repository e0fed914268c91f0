/**
 * The host of sagas that live in a journal: this process has a lease on the saga, calls its steps itself, and appends what
 * came of them as checkpoints. The fence is the version: a checkpoint is refused where that version is taken. Then the saga
 * is read again; either an operator added a line, and the driver decides anew, or another worker has the saga.
 */
import type { CallCommand } from "../../core/saga/interpreter.ts";
import type { ControlDetails, Entry } from "../../core/saga/entry.ts";
import { failingStep, type SagaState } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/steps/wait.ts";
import type { Lease } from "../../runtime/lease.ts";
import { graceInTransaction } from "../../runtime/own-transaction.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import type { Database } from "../../storage/database.ts";
import type { RefusedWrites } from "../../storage/write/refused-writes.ts";
import { AmendsError, errorLabel } from "../../core/errors.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import type { StepState } from "../../core/saga/state.ts";
import { awaitedDetails, endedSaga } from "../../core/saga/steps/child.ts";
import type { AnySaga } from "../define/definition.ts";
import { goesOn, recorded } from "../define/own-outcome.ts";
import type { Checkpoint, Journal, Move, Parent, RenewedClaim, SagaRecord } from "../journal/journal.ts";
import { childEndOf, resultsOf, stallReason } from "../view/outcome.ts";
import { childStep, type Children } from "./children.ts";
import { failureLabel, failureText } from "../../core/saga/failure-text.ts";
import { callOf, callStep } from "./call.ts";
import type { Answer } from "./guarded-call.ts";
import {
  LATER,
  type Lines,
  type Pending,
  type PendingCall,
  type Recorded,
  type Recording,
  type RecordListener,
  type SagaHost,
  type StepSettings,
} from "../driver/saga-host.ts";
import type { HostedCall } from "./hosted-call.ts";
import { StepCalls, type SpecialCalls, type StepCallTools } from "./step-calls.ts";
import { Run, type Departure } from "../driver/run.ts";
import type { PartContext } from "../../runtime/part.ts";
import type { SagaEvents } from "./saga-events.ts";
import { successLines } from "../driver/settle.ts";
import { StoredProgress, type ProgressWrite } from "./progress/stored.ts";
import { callStepInTransaction } from "./transactional.ts";

/** What all sagas of an engine share. */
export interface HostTools extends StepCallTools {
  readonly journal: Journal;
  readonly database: Database | undefined;
  readonly sagaEvents: SagaEvents;
  /** The database has forgotten what this host wrote: it went back in time. */
  onRewound(host: JournalHost, foundVersion: number | undefined): void;
  /** The database refuses to record outcomes for a lasting reason, or no longer does. */
  readonly onRefused: (refused: RefusedWrites) => void;
  readonly warn: PartContext["warn"];
  /** Undefined if the storage cannot link sagas. */
  readonly children: Children | undefined;
  isDraining(): boolean;
  /** A saga was given back and is due after this long. */
  dueIn(ms: number): void;
}

/** A renewal under way, and the progress that it takes along. */
export interface Renewal {
  readonly claim: RenewedClaim;
  readonly version: number;
  readonly write: ProgressWrite | undefined;
}

export class JournalHost implements SagaHost, SpecialCalls {
  readonly run: Run;
  readonly token: number;
  /** The saga that waits for its end. */
  readonly parent: Parent | undefined;
  version: number;
  /** Why it cannot go on here: it is stalled instead. */
  readonly refusal: ControlDetails | undefined;
  departure: Departure | undefined;
  /** It has limits by key: others may wait for its place. */
  readonly isLimited: boolean;
  /** That the database has forgotten it was reported. */
  isRewound = false;
  /** Set as soon as it has its slot. */
  lease!: Lease;
  readonly #tools: HostTools;
  /** Of the database, when the saga was last read from it. */
  #epoch: number;
  /** A version that is being written: a renewal that reads it has read this host's own line. */
  #sentVersion = 0;
  /** What the checkpoint under way takes along. */
  #sentProgress: ProgressWrite | undefined;
  /** It was recovered, and has made no progress since. */
  #unconfirmedRecovery: boolean;
  /** An operator added a line that the driver has not read. */
  #isChanged = false;
  readonly #calls: StepCalls;
  readonly #progress: StoredProgress;

  constructor(
    tools: HostTools,
    record: Omit<SagaRecord, "entries">,
    definition: AnySaga,
    refusal?: ControlDetails,
  ) {
    this.run = new Run(record, definition, tools.clock.monotonicMs());
    this.token = record.token;
    this.version = record.version;
    this.refusal = refusal;
    this.#progress = new StoredProgress(this.run);
    this.#tools = tools;
    this.parent = record.parent;
    this.isLimited = record.limits !== undefined;
    this.#calls = new StepCalls(tools, this.run, this, this);
    this.#epoch = record.epoch;
    this.#unconfirmedRecovery = record.recoveryAttempts > 0;
  }

  get id(): string {
    return this.run.id;
  }

  get definition(): AnySaga {
    return this.run.definition;
  }

  get state(): SagaState {
    return this.run.state;
  }

  /** The pool has a slot for it: a loss and a shutdown come from there. */
  attach(lease: Lease): void {
    this.lease = lease;
    lease.onStop(() => this.#calls.stop(lease.stopped ?? "lost"));
  }

  /** An operator added a line: the calls under way are told, and the driver reads the saga again. */
  interrupt(): void {
    this.#isChanged = true;
    this.#calls.stop("cancelled");
  }

  /** A renewal has read this version of the saga. */
  sawVersion(version: number): void {
    if (version > Math.max(this.version, this.#sentVersion)) this.interrupt();
  }

  /** A renewal begins now. */
  renewal(): Renewal {
    const { id, token, version } = this;
    const write = this.#progress.forRenewal();
    const reported = write?.text ? { text: write.text, version } : undefined;
    return { claim: { id, token, reported }, version, write };
  }

  /** The renewal has found this version of the saga's row: progress that it took along is stored unless a checkpoint was faster. */
  renewed({ version, write }: Renewal, foundVersion: number): void {
    const isLatest = this.version === version && this.#sentVersion <= version;
    if (write && isLatest && foundVersion <= version) this.#progress.stored(write);
    this.sawVersion(foundVersion);
  }

  /** Why calls that begin now must stop, or what was told and is not dealt with yet. */
  get stopReason(): StopReason | undefined {
    return this.lease.stopped ?? (this.#isChanged ? "cancelled" : undefined);
  }

  nowMs(): number {
    return this.#tools.clock.monotonicMs();
  }

  get isDraining(): boolean {
    return this.#tools.isDraining();
  }

  get interruption(): "changed" | "lost" | undefined {
    if (this.lease.stopped === "lost") return "lost";
    return this.#isChanged ? "changed" : undefined;
  }

  warn(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#tools.warn(fields, message);
  }

  settings(step: string): StepSettings {
    return this.run.step(step);
  }

  call(command: CallCommand): PendingCall {
    return this.#calls.make(command);
  }

  until(pendings: readonly Pending<unknown>[], ms?: number): Promise<void> {
    return this.#calls.until(pendings, ms);
  }

  inTransaction(call: HostedCall): Promise<Answer> {
    const { journal, graceMs } = this.#tools;
    const db = this.#tools.database as Database;
    const tools = { ...this.#tools, graceMs: graceInTransaction(db, graceMs) };
    let lines: Lines;
    return callStepInTransaction({
      db,
      signal: call.signal,
      onRefused: this.#tools.onRefused,
      call: (tx) => {
        call.tx = tx;
        return callStep(tools, call);
      },
      write: async (session, called) => {
        lines = successLines(this, this.run, call.command, called);
        const checkpoint = this.#checkpoint(lines);
        return (await journal.appendIn(session, checkpoint)) ? checkpoint : undefined;
      },
      isWritten: async ({ sagaId, version, token }) => {
        const record = await journal.load(sagaId);
        return record?.entries.some((entry) => entry.id === version && entry.token === token) ?? false;
      },
      accept: (checkpoint) => this.#accept(checkpoint, lines),
      reread: () => this.reread(),
    });
  }

  record(lines: Lines, listener: RecordListener): Recording {
    const checkpoint = this.#checkpoint(lines);
    this.#sentVersion = checkpoint.version + (lines.more?.length ?? 0);
    // A saga that cannot be recorded is lost, and its calls are stopped.
    const failed = (error: unknown): void => {
      this.lease.stop("lost");
      listener.failed(error);
    };
    const written = (isWritten: boolean): void => {
      if (!isWritten) return void this.reread().then((how) => listener.recorded(how), failed);
      let how: Recorded;
      try {
        how = this.#recorded(checkpoint, lines);
      } catch (error) {
        // A bug that shows here must not cost the other sagas of the commit.
        return listener.failed(error);
      }
      listener.recorded(how);
    };
    this.#tools.journal.append({ item: checkpoint, written, failed });
    return LATER;
  }

  #recorded(checkpoint: Checkpoint, lines: Lines): Recorded {
    this.#accept(checkpoint, lines);
    // The saga that waits for its end is due now.
    if (this.parent && sagaMachine.isTerminal(lines.state.status)) this.#tools.dueIn(0);
    if (!lines.rest) return "held";
    this.#tools.dueIn(lines.rest.releaseMs);
    return "left";
  }

  #checkpoint(lines: Lines): Checkpoint {
    const { entry, more, state } = lines;
    const emissions = this.#withStalled(lines);
    const { id: sagaId, token } = this;
    const epoch = this.#epoch;
    return {
      sagaId,
      epoch,
      token,
      version: this.version + 1,
      entry,
      more,
      emissions,
      parent: this.parent,
      move: this.#move(lines),
      state,
    };
  }

  /** With the call that follows a stall, if the saga stalls by these lines. */
  #withStalled({ emissions, state }: Lines): Lines["emissions"] {
    const { stalled } = this.run.definition;
    if (!stalled || state.status !== "STALLED" || this.run.state.status === "STALLED") return emissions;
    const { keyId: sagaId, input } = this.run;
    const context = {
      sagaId,
      input,
      results: resultsOf(state),
      reason: stallReason(state),
      step: state.stall?.step,
    };
    try {
      return [...emissions, callOf(this.#tools)(stalled(context))];
    } catch (error) {
      this.warn(
        { id: this.id, error: errorLabel(error) },
        "amends: onStalled of a saga failed; its call was not made",
      );
      return emissions;
    }
  }

  /** How the saga's row changes; undefined if it does not. */
  #move({ entry, more, state, rest }: Lines): Move | undefined {
    const recovered = this.#unconfirmedRecovery && (isDone(entry) || (more?.some(isDone) ?? false));
    const from = this.run.state.status;
    const failing = failingStep(state) !== undefined;
    const isSame = state.status === from && failing === (failingStep(this.run.state) !== undefined);
    const isMoving = !isSame || rest !== undefined || recovered;
    const written = this.#progress.forCheckpoint(state, isMoving);
    this.#sentProgress = written;
    if (!isMoving && !written) return undefined;
    const { releaseMs, awaits } = rest ?? { releaseMs: undefined };
    const error = failureText(state);
    const label = failureLabel(state);
    const shared = { releaseMs, awaits, error, errorLabel: label, failing, recovered };
    return { from, to: state.status, ...shared, progress: written?.text };
  }

  /** The lines are durable: only now does any reader see them. */
  #accept({ version, move }: Checkpoint, lines: Lines): void {
    const { entry, more, state } = lines;
    const before = this.run.state;
    const count = more === undefined ? 0 : more.length;
    this.version = version + count;
    this.run.accept(lines, this.nowMs());
    if (this.#sentProgress) this.#progress.stored(this.#sentProgress);
    this.#progress.settle(state);
    if (move?.recovered) this.#unconfirmedRecovery = false;
    // Of several lines, only the last tells readers that the saga has ended.
    const { sagaEvents } = this.#tools;
    sagaEvents.publish(this.id, { version, entry, state: count === 0 ? state : before });
    for (let n = 1; n <= count; n++) {
      const line = more?.[n - 1] as Entry;
      sagaEvents.publish(this.id, { version: version + n, entry: line, state: n === count ? state : before });
    }
  }

  /** A saga that the database knows less of than this worker does is lost, too: the database went back in time. */
  async reread(): Promise<"changed" | "lost"> {
    this.#isChanged = false;
    const record = await this.#tools.journal.load(this.id);
    if (!record || record.version < this.version) this.#tools.onRewound(this, record?.version);
    if (!record || record.version < this.version || record.token !== this.token) {
      this.lease.stop("lost");
      return "lost";
    }
    this.#epoch = record.epoch;
    this.version = record.version;
    this.run.adopt(record.state, record.nowMs, this.nowMs());
    return "changed";
  }

  async arrivals(): Promise<readonly Arrival[]> {
    const arrivals = await this.#tools.journal.arrivals(this.id);
    return this.#hasChildren ? Promise.all(arrivals.map((arrival) => this.#withEnd(arrival))) : arrivals;
  }

  /** The end of a child says no more than that: how the child ended, its log tells. */
  async #withEnd(arrival: Arrival): Promise<Arrival> {
    const id = endedSaga(arrival.name);
    const isTaken = this.run.state.steps.some(({ received }) => received === arrival.number);
    if (id === undefined || isTaken) return arrival;
    const record = await this.#tools.journal.load(id);
    return record ? { ...arrival, payload: JSON.stringify(childEndOf(record.state)) } : arrival;
  }

  get #hasChildren(): boolean {
    return this.run.state.plan.some(({ child }) => child !== undefined);
  }

  child(call: HostedCall): Answer | Promise<Answer> {
    const { children } = this.#tools;
    const { child, name } = call.step;
    const state = this.run.state.steps[call.command.index] as StepState;
    const parent = { id: this.run.keyId, step: childStep(name, state) };
    call.code = async (context) => {
      if (!children || !child) throw new AmendsError("NOT_SUPPORTED", "This storage cannot link sagas.");
      const awaited =
        call.command.kind === "act"
          ? await children.start(parent, child, context)
          : await children.undo(parent, child, state, context, this.id);
      return awaited ? goesOn([awaitedDetails(awaited)]) : recorded(null);
    };
    return callStep(this.#tools, call);
  }
}

/** A step has succeeded or was undone. */
function isDone({ step, status }: Entry): boolean {
  return status === "COMPLETED" && !step.startsWith("$");
}
