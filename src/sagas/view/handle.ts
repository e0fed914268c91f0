/**
 * A saga that was started or found: follow it, wait for it, cancel it. Readers see a step only once it is durable.
 * What happens in this process reaches them at once; what happens in another is found by looking.
 */
import type { Clock } from "../../storage/clock.ts";
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { Entry, Failure } from "../../core/saga/entry.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import type { Plan, PlannedStep } from "../../core/saga/plan.ts";
import { readReceived, type Wait } from "../../core/saga/steps/wait.ts";
import type { AnySaga } from "../define/definition.ts";
import type { Engine } from "../engine/engine.ts";
import type { Started } from "../start/starts.ts";
import type { Journal, SagaRecord } from "../journal/journal.ts";
import type { News } from "../engine/saga-events.ts";
import type { OperatorNote, Operators } from "./operators.ts";
import { failureOf, outcomeOf, type SagaFailure, type SagaOutcome } from "./outcome.ts";

/** One durable change of a step. */
export interface StepNews {
  /** The name of the step. */
  readonly name: string;
  /** Whether the step acted or was compensated. */
  readonly action: "act" | "compensate";
  /** The new status of the step. `WAITING`: the step waits for time to pass, a signal or an event. */
  readonly status: "COMPLETED" | "FAILED" | "WAITING";
  /** What the act returned, or the payload that the step waited for. */
  readonly result?: unknown;
  /** What the step waits for, and its time limit. */
  readonly waitsFor?: Pick<Wait, "kind" | "target" | "limitMs">;
  /** Why the call failed. */
  readonly error?: SagaFailure | { readonly kind: "retry"; readonly label: string; readonly waitMs: number };
  /** The name of the fallback that runs instead of the failed step. */
  readonly fallback?: string;
}

/** Limits of a wait for a saga. The saga goes on when the wait ends. */
export interface WaitOptions {
  /** Stops the wait, which then rejects with the code `STOPPED_WAITING`. */
  readonly signal?: AbortSignal;
  /** The longest wait; after it, the wait rejects with the code `STOPPED_WAITING`. Default: none. */
  readonly timeout?: Duration;
}

export interface HandleTools {
  readonly engine: Engine;
  readonly journal: Journal;
  readonly operators: Operators;
  readonly clock: Clock;
  /** Whether a worker runs anywhere; undefined with a storage that the user implements. */
  readonly workers: Lookout | undefined;
}

export interface Lookout {
  isRunning(): Promise<boolean>;
  /** Logs that a caller waits for this saga and no worker runs. */
  warnIfNone(id: string): Promise<void>;
}

/** How long a wait lasts before it looks whether a worker runs. */
const LOOK_FOR_WORKER_MS = 5_000;
const LOOK_AGAIN_MIN_MS = 50;
const LOOK_AGAIN_MAX_MS = 1_000;

/** The existing saga with this id; with a definition or a reference in front, of that name. */
export async function findSaga(
  journal: Journal,
  { active }: Pick<Engine, "active">,
  first: string | Pick<AnySaga, "name">,
  second: string | undefined,
): Promise<Started> {
  const [id, saga] = typeof first === "string" ? [first, undefined] : [second as string, first];
  const record = await journal.load(id);
  if (!record) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id });
  if (saga && saga.name !== record.name) {
    throw new AmendsError(
      "SAGA_CONFLICT",
      `The id belongs to a saga of ${record.name}, not of ${saga.name}. Ids are unique over all sagas.`,
      { id, name: record.name },
    );
  }
  return { id, created: false, run: active.get(id), sinceVersion: record.version };
}

/** A saga that was started or found: wait for its result, follow its steps, or cancel it. */
export class SagaRun<Results = unknown, E = unknown> {
  /** The id of the saga. */
  readonly id: string;
  /** False if a saga with this id already existed. */
  readonly created: boolean;
  readonly #tools: HandleTools;
  readonly #started: Started;

  constructor(tools: HandleTools, started: Started) {
    this.#tools = tools;
    this.#started = started;
    this.id = started.id;
    this.created = started.created;
  }

  /** Waits until the saga is COMPLETED, FAILED or STALLED. Rejects with `STOPPED_WAITING` on a timeout or an abort. */
  async result(options: WaitOptions = {}): Promise<SagaOutcome<Results, E>> {
    checkWait(options);
    const { run } = this.#started;
    if (run && !options.signal && options.timeout === undefined) {
      await run.lease.goneOrLost;
      const outcome = run.departure === "ended" ? outcomeOf(this.id, run.state) : undefined;
      // A stalled saga may have been helped on since.
      if (outcome && outcome.status !== "STALLED") return outcome as SagaOutcome<Results, E>;
    }
    for await (const { state } of this.#follow(Infinity, options)) {
      const outcome = outcomeOf(this.id, state);
      if (outcome) return outcome as SagaOutcome<Results, E>;
    }
    throw stoppedWaiting();
  }

  /**
   * Yields the changes of steps since this handle found the saga: all of them for a saga that was started now, none for
   * one that had ended. Leaving the loop does not stop the saga.
   */
  async *stream(options: WaitOptions = {}): AsyncGenerator<StepNews, void, void> {
    let isFirst = this.#started.sinceVersion === 0;
    for await (const { entries, state } of this.#follow(this.#started.sinceVersion, options)) {
      if (isFirst) yield* firstNews(entries, state);
      isFirst = false;
      for (const entry of entries) yield* newsOf(entry, state.plan);
      if (outcomeOf(this.id, state)) return;
    }
  }

  /**
   * Calls `reader` for each change, as `stream` yields them. If `reader` throws, the saga is cancelled and the error is
   * rethrown.
   */
  async each(reader: (step: StepNews) => unknown, options: WaitOptions = {}): Promise<void> {
    for await (const step of this.stream(options)) {
      try {
        await reader(step);
      } catch (error) {
        await this.cancel({ reason: "the reader of its steps failed" }).catch(ignoreRefusal);
        throw error;
      }
    }
  }

  /** Cancels the saga: it compensates. Throws `CANCEL_REFUSED` if the saga has reached its pivot or has completed. */
  async cancel(note: Partial<OperatorNote> = {}): Promise<void> {
    await this.#tools.operators.cancel(this.id, { reason: "cancelled", ...note });
  }

  /** Reads the current status of the saga. */
  async status(): Promise<SagaRecord["state"]["status"]> {
    return (await this.#load()).state.status;
  }

  /** Yields whatever is new since a version, now and whenever there is more. */
  async *#follow(
    sinceVersion: number,
    options: WaitOptions,
  ): AsyncGenerator<{ entries: readonly Entry[]; state: SagaRecord["state"] }, void, void> {
    const { engine, clock, workers } = this.#tools;
    const { signal, release } = limitOf(clock, options);
    const heard: News[] = [];
    let wake: () => void = () => undefined;
    const unsubscribe = engine.sagaEvents.subscribe(this.id, (news) => {
      heard.push(news);
      wake();
    });
    let seen = sinceVersion;
    let waitMs = LOOK_AGAIN_MIN_MS;
    let mustLook = true;
    const cancelLook = clock.after(LOOK_FOR_WORKER_MS, () => void workers?.warnIfNone(this.id));
    const onAbort = (): void => wake();
    signal?.addEventListener("abort", onAbort);
    try {
      for (;;) {
        if (mustLook) {
          const record = await this.#load();
          const entries = record.entries.filter((entry) => entry.id > seen);
          if (record.version > seen) waitMs = LOOK_AGAIN_MIN_MS;
          seen = Math.max(seen, record.version);
          yield { entries, state: record.state };
        }
        if (signal?.aborted) throw stoppedWaiting((await workers?.isRunning()) ?? true);
        if (heard.length === 0) {
          await new Promise<void>((resolve) => {
            const cancel = clock.after(waitMs, resolve);
            wake = () => {
              cancel();
              resolve();
            };
          });
          waitMs = Math.min(waitMs * 2, LOOK_AGAIN_MAX_MS);
        }
        mustLook = heard.length === 0;
        for (const news of heard.splice(0)) {
          // A line that follows on what was seen needs no look at the database.
          if (news.version === seen + 1 && news.entry) {
            seen = news.version;
            yield { entries: [news.entry], state: news.state };
          } else if (seen === Infinity && sagaMachine.isTerminal(news.state.status)) {
            // Who asks for states alone need not look at a saga that has ended: nothing follows.
            yield { entries: [], state: news.state };
          } else if (news.version > seen || !news.entry) mustLook = true;
        }
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
      cancelLook();
      release();
      unsubscribe();
    }
  }

  async #load(): Promise<SagaRecord> {
    const record = await this.#tools.journal.load(this.id);
    if (!record) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id: this.id });
    return record;
  }
}

/** A saga that was created with its first step begun has no line that says so. */
function* firstNews(
  entries: readonly Entry[],
  { plan, steps }: SagaRecord["state"],
): Generator<StepNews, void, void> {
  const [first] = plan;
  if (!first?.wait || steps[0]?.act === "none") return;
  const isTold = entries.some(
    ({ step, status, next }) => next?.step === first.name || (step === first.name && status === "STARTED"),
  );
  if (!isTold) yield waitingNews(first, first.wait);
}

/** What a line tells: how a call or a wait ended, and that a wait has begun. */
function* newsOf(entry: Entry, plan: Plan): Generator<StepNews, void, void> {
  const { step: name, status, next } = entry;
  const planned = plan.find((step) => step.name === name);
  if (planned && status !== "STARTED") yield endNews(entry, planned);
  const begun = status === "STARTED" ? name : next?.step;
  const waiting = plan.find((step) => step.name === begun && step.wait);
  if (waiting?.wait) yield waitingNews(waiting, waiting.wait);
}

function waitingNews({ name }: PlannedStep, { kind, target, limitMs }: Wait): StepNews {
  const waitsFor = {
    kind,
    ...(target !== undefined && { target }),
    ...(limitMs !== undefined && { limitMs }),
  };
  return { name, action: "act", status: "WAITING", waitsFor };
}

function endNews({ step: name, action, status, details }: Entry, { wait }: PlannedStep): StepNews {
  if (status === "COMPLETED") {
    const returned = details === null ? undefined : (JSON.parse(details) as unknown);
    const result = wait ? readReceived(details).value : returned;
    return { name, action, status, ...(result !== undefined && action === "act" && { result }) };
  }
  const failure = JSON.parse(details as string) as Failure;
  const error =
    failure.kind === "retry"
      ? { kind: failure.kind, label: failure.label, waitMs: failure.waitMs ?? 0 }
      : (failureOf(failure) as SagaFailure);
  const { instead } = failure;
  return { name, action, status: "FAILED", error, ...(instead !== undefined && { fallback: instead }) };
}

function checkWait(options: WaitOptions): void {
  refuseUnknown(options, ["signal", "timeout"], "The wait for a saga");
}

/** One signal for both ways in which a wait ends early. */
function limitOf(
  clock: Clock,
  options: WaitOptions,
): { readonly signal: AbortSignal | undefined; readonly release: () => void } {
  checkWait(options);
  const { signal, timeout } = options;
  if (timeout === undefined) return { signal, release: () => undefined };
  const ms = positiveMs(timeout, "timeout");
  const over = new AbortController();
  const stop = (): void => over.abort();
  const cancel = clock.after(ms, stop);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  const release = (): void => {
    cancel();
    signal?.removeEventListener("abort", stop);
  };
  return { signal: over.signal, release };
}

function stoppedWaiting(isWorkerRunning: boolean = true): AmendsError {
  return new AmendsError(
    "STOPPED_WAITING",
    isWorkerRunning
      ? "The wait for this saga was stopped. The saga goes on."
      : "The wait for this saga was stopped, and no worker is running. Start one with `amends.worker().start()` or `amends worker`; the saga then goes on.",
    { isWorkerRunning },
  );
}

/** Too late to cancel: the reader's own error is what counts. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof AmendsError)) throw error;
}
