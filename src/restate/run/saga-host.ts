/**
 * The host of sagas that run in a workflow of Restate. Restate's journal takes the place of the log: it has one record for the
 * beginning of the saga, one for each try, and one after each wait. At a replay the driver goes the same way by these records, and
 * the lines follow from them. Nothing here depends on this process's clock, or on the order in which things happen in it,
 * except through a record.
 */
import { control, started, type Entry } from "../../core/saga/entry.ts";
import { evolve } from "../../core/saga/evolve.ts";
import { actionOf, type CallCommand } from "../../core/saga/interpreter.ts";
import { stepOf } from "../../core/saga/part-name.ts";
import { callName, openProgress, withReported } from "../../core/saga/progress.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/steps/wait.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { Run } from "../../sagas/driver/run.ts";
import type {
  CallEnd,
  CallResult,
  Lines,
  Pending,
  PendingCall,
  Recorded,
  Recording,
  Rest,
  SagaHost,
  StepSettings,
} from "../../sagas/driver/saga-host.ts";
import { Eventual, type Stopping } from "../../sagas/engine/hosted-call.ts";
import type { StepCallTools } from "../../sagas/engine/step-calls.ts";
import type { SagaRecord } from "../../sagas/journal/journal.ts";
import { outcomeOf, type SagaOutcome } from "../../sagas/view/outcome.ts";
import { wallMs } from "../../storage/clock.ts";
import { Attempt, type AttemptRecord, type CallRecord } from "./attempt.ts";
import { Inbox, type Incoming } from "./inbox-reader.ts";
import { decideOrder } from "../orders.ts";
import { recorded, type Made } from "./recorded.ts";
import type { Durable, Race, RunContext } from "../sdk.ts";
import { ENDED, outcomePlace, SAGA_KEY, STATUS_KEY, STORED, type SagaLog } from "../stored-saga.ts";

export interface HostTools extends StepCallTools {
  readonly race: Race;
}

/** What ended a wait takes effect only once it has won, in the order of Restate's journal. */
type Effect = () => void | Promise<void>;

class HostedAttempt extends Eventual<CallEnd> implements PendingCall {
  readonly command: CallCommand;
  readonly attempt: Attempt;
  readonly record: Durable<Made<AttemptRecord>>;
  /** That it was in doubt is in the log. */
  isCounted = false;

  constructor(command: CallCommand, attempt: Attempt, record: Durable<Made<AttemptRecord>>) {
    super();
    this.command = command;
    this.attempt = attempt;
    this.record = record;
  }
}

class LateAnswer extends Eventual<CallResult | undefined> {
  readonly record: Durable<Made<CallRecord | null>>;

  constructor(record: Durable<Made<CallRecord | null>>) {
    super();
    this.record = record;
  }
}

export class RestateHost implements SagaHost, Stopping {
  readonly run: Run;
  readonly isDraining = false;
  /** Sagas on Restate cannot be paused. */
  readonly isPaused = false;
  interruption: "changed" | undefined;
  readonly #context: RunContext;
  readonly #tools: HostTools;
  readonly #log: SagaLog;
  readonly #inbox: Inbox;
  readonly #settings = new Map<string, StepSettings>();
  readonly #over: AbortSignal;
  /** The time of the journal. */
  #nowMs: number;
  /** The last record was made by this attempt, not replayed: no other one has begun what follows on it. */
  #isLive: boolean;
  #attempts: readonly HostedAttempt[] = [];
  #stalls = 0;
  #status: SagaState["status"] | undefined;

  /** `isLive`: this attempt made the record of the saga's beginning. */
  constructor(
    context: RunContext,
    tools: HostTools,
    log: SagaLog,
    record: SagaRecord,
    definition: AnySaga,
    isLive: boolean,
  ) {
    this.#context = context;
    this.#tools = tools;
    this.#log = log;
    this.#nowMs = record.nowMs;
    this.#isLive = isLive;
    this.#inbox = new Inbox(context);
    this.run = new Run(record, definition, record.nowMs);
    this.#over = context.request().attemptCompletedSignal;
    this.#over.addEventListener("abort", () => this.#stop("lost"), { once: true });
    this.#persist();
    void context.promise(STORED).resolve(true);
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Why a call that begins now must stop. */
  get stopReason(): StopReason | undefined {
    return this.#over.aborted ? "lost" : this.interruption && "cancelled";
  }

  warn(fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#context.console.warn(message, fields);
  }

  /** A try is decided on by the policy that was recorded with it. */
  settings(step: string): StepSettings {
    return this.#settings.get(stepOf(step)) ?? this.run.step(step);
  }

  call(command: CallCommand): PendingCall {
    // Unless this attempt made the record before it, an earlier attempt may have made the call already.
    const again = !this.#isLive;
    const made = again ? { ...command, attempt: command.attempt + 1 } : command;
    const attempt = new Attempt(this.#tools, this.run, this, made);
    const name = `${command.step} ${command.kind} ${command.attempt}`;
    const record = recorded(this.#context, name, () => attempt.make(again));
    const pending = new HostedAttempt(command, attempt, record);
    this.#attempts = [...this.#attempts, pending];
    return pending;
  }

  async until(pendings: readonly Pending<unknown>[], ms?: number): Promise<void> {
    const effects = pendings.map((one) =>
      one instanceof HostedAttempt
        ? one.record.map(
            (made): Effect =>
              () =>
                this.#ended(one, made as Made<AttemptRecord>),
          )
        : lateEffect(one as LateAnswer),
    );
    if (ms !== undefined) effects.push(this.#timer(ms));
    await this.#first(effects);
  }

  record(lines: Lines): Recording {
    this.#accept(lines);
    return lines.rest && lines.rest.releaseMs > 0 ? this.#rest(lines.rest) : "held";
  }

  async reread(): Promise<"changed"> {
    this.interruption = undefined;
    return "changed";
  }

  async arrivals(): Promise<readonly Arrival[]> {
    return this.#inbox.arrivals;
  }

  /** Tells those who wait that the saga has ended, or that it is stalled. */
  tell(): SagaOutcome | undefined {
    const outcome = outcomeOf(this.run.id, this.run.state);
    if (!outcome) return undefined;
    this.#persist();
    void this.#context.promise(outcomePlace(this.#stalls)).resolve(outcome);
    if (outcome.status === "STALLED") this.#stalls++;
    else void this.#context.promise(ENDED).resolve(true);
    return outcome;
  }

  /** A saga that is still stalled waits for an operator. Restate takes it out of memory meanwhile. */
  async park(): Promise<void> {
    while (this.run.state.status === "STALLED") await this.#first([]);
  }

  /** Stores the saga for those who look at it. */
  #persist(): void {
    const { status } = this.run.state;
    this.#context.set(SAGA_KEY, this.#log.stored(this.#stalls, this.#inbox.read));
    if (status !== this.#status) this.#context.set(STATUS_KEY, status);
    this.#status = status;
  }

  #accept(lines: Lines): void {
    const { entry, more = [], state, rest } = lines;
    this.#log.append([entry, ...more], this.#nowMs);
    this.run.accept(lines, this.#nowMs);
    const { progress } = this.run;
    if (progress) this.run.progress = openProgress(state, progress);
    if (rest || state.status !== this.#status) this.#persist();
  }

  /** The saga waits in place. */
  async #rest({ releaseMs, awaits }: Rest): Promise<Recorded> {
    const untilMs = this.#nowMs + releaseMs;
    const timer = this.#timer(releaseMs);
    const isAwaited = ({ number, name }: Arrival): boolean =>
      awaits !== undefined && number > awaits.seen && awaits.names.includes(name);
    while (this.#nowMs < untilMs && !this.interruption && !this.#inbox.arrivals.some(isAwaited))
      await this.#first([timer]);
    return "held";
  }

  #timer(ms: number): Durable<Effect> {
    const dueMs = this.#nowMs + ms;
    return this.#context.sleep(Math.max(0, Math.ceil(ms))).map((): Effect => () => this.#wake(dueMs));
  }

  /** Waits for the first of these, or for something from outside. */
  async #first(effects: readonly Durable<Effect>[]): Promise<void> {
    const outside = this.#inbox.next().map((one) =>
      one.map(
        (incoming): Effect =>
          () =>
            this.#take(incoming as Incoming),
      ),
    );
    const effect = await this.#tools.race([...effects, ...outside]);
    await effect();
  }

  /** The time after a wait is recorded: what follows on it is then not in doubt. */
  async #wake(dueMs: number): Promise<void> {
    const { value, isMade } = await recorded(this.#context, "$wake", async () => wallMs(this.#tools.clock));
    this.#isLive = isMade;
    this.#nowMs = Math.max(this.#nowMs, dueMs, value);
  }

  async #take(incoming: Incoming): Promise<void> {
    const order = this.#inbox.take(incoming);
    await this.#wake(this.#nowMs);
    if (!order) return;
    const after = (entry: Entry): SagaRecord => {
      this.#log.append([entry], this.#nowMs, true);
      return this.#log.read(this.#nowMs);
    };
    const { entry, isPointless, answer } = await decideOrder(this.#log.read(this.#nowMs), order, after);
    if (incoming.number !== undefined) this.#inbox.answer(incoming.number, answer);
    if (!entry) return;
    this.run.adopt(this.#log.read(this.#nowMs).state, this.#nowMs, this.#nowMs);
    this.#persist();
    this.interruption = "changed";
    if (isPointless) this.#stop("cancelled");
  }

  #ended(one: HostedAttempt, { value: record, isMade }: Made<AttemptRecord>): void {
    const { command } = one;
    this.#isLive = isMade;
    this.#nowMs = Math.max(this.#nowMs, record.endedAtMs);
    if (record.again && !one.isCounted) this.#interrupted();
    this.#attempts = this.#attempts.filter((other) => other !== one);
    const { retry, progress } = record;
    if (retry) {
      const { deadlineMs } = this.run.step(command.step);
      this.#settings.set(stepOf(command.step), { retry, compensateRetry: retry, deadlineMs });
    }
    if (progress) this.run.progress = withReported(this.run.progress, callName(command), progress);
    const late = record.isLate ? this.#outlast(one) : undefined;
    one.end({ ...resultOf(record), ...(late && { late }) });
  }

  #outlast({ command, attempt }: HostedAttempt): LateAnswer {
    const name = `${command.step} ${command.kind} ${command.attempt} late`;
    return new LateAnswer(recorded(this.#context, name, () => attempt.outlast()));
  }

  /** An attempt died in the calls that are under way: they were in doubt, and were made again. */
  #interrupted(): void {
    const lines = [
      control("$claim", { by: OWNER, kind: "again" }),
      ...this.#attempts.map(({ command }) => ({ ...started(command.step), action: actionOf(command) })),
    ];
    for (const attempt of this.#attempts) attempt.isCounted = true;
    this.#log.append(lines, this.#nowMs);
    this.run.state = lines.reduce(evolve, this.run.state);
  }

  #stop(reason: StopReason): void {
    for (const { attempt } of this.#attempts) attempt.stop(reason);
  }
}

/** Who runs the saga, in its log: Restate decides which process does. */
export const OWNER = "restate";

function lateEffect(late: LateAnswer): Durable<Effect> {
  return late.record.map((made): Effect => () => {
    const record = made?.value;
    late.end(record ? resultOf(record) : undefined);
  });
}

function resultOf({ outcome, emissions = [], expired }: CallRecord): CallResult {
  return { outcome, emissions, ...(expired && { expired }) };
}
