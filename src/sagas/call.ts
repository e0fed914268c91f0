/**
 * Calls the user's code, which may hang, throw anything or return nonsense: whatever it does becomes an outcome. No
 * transaction, lock or connection is held meanwhile, except for a step that asked for a transaction.
 */
import { classify, errorLabel } from "../core/errors.ts";
import { checkName, idempotencyKey } from "../core/identity.ts";
import { encodeJson } from "../core/json.ts";
import { isErr, isOk } from "../core/result.ts";
import type { Failure } from "../core/saga/entry.ts";
import { pivotBegun, type Command, type Outcome } from "../core/saga/interpreter.ts";
import type { StepState } from "../core/saga/state.ts";
import type { Clock } from "../storage/clock.ts";
import type { EmittedEvent } from "./definition.ts";
import type { Emission } from "./journal.ts";
import type { Run } from "./run.ts";

/** A call of a step, as middleware sees it. */
export interface StepCall {
  readonly sagaId: string;
  readonly saga: string;
  readonly step: string;
  readonly action: "act" | "compensate";
  readonly attempt: number;
  readonly key: string;
}

/** Wraps every act and every undo, in recovery too. Return what `next` returns. */
export type Middleware = (call: StepCall, next: () => Promise<unknown>) => Promise<unknown>;

export interface CallTools {
  readonly clock: Clock;
  readonly middleware: readonly Middleware[];
  readonly errorCodes: ReadonlySet<string>;
  newId(): string;
}

export type CallCommand = Extract<Command, { kind: "act" | "undo" }>;

export interface Called {
  readonly outcome: Outcome;
  readonly emissions: readonly Emission[];
  /** What was thrown, for whoever must tell trouble with the database from trouble with the step. Never stored. */
  readonly thrown?: unknown;
}

/** Undefined where the call was interrupted by a shutdown or a lost lease: that is not an outcome. */
export async function callStep(
  tools: CallTools,
  run: Run,
  command: CallCommand,
  tx: unknown,
): Promise<Called | undefined> {
  const step = run.step(command.step);
  const context = new CallContext(tools, run, command, tx);
  const isAct = command.kind === "act";
  const user = (isAct ? step.act : step.compensate) as (context: unknown) => unknown;
  const limits = watch(tools.clock, run, step.timeoutMs, isAct ? step.deadlineMs : undefined);
  try {
    const value = await withMiddleware(tools.middleware, run, command, context, () => user(context));
    return { outcome: outcomeOf(value, isAct, command.step), emissions: context.emissions };
  } catch (thrown) {
    const failed = failureOf(tools, run, thrown);
    return failed && { outcome: failed, emissions: [], thrown };
  } finally {
    for (const cancel of limits) cancel();
  }
}

class CallContext {
  readonly sagaId: string;
  readonly input: unknown;
  readonly results: Readonly<Record<string, unknown>>;
  readonly key: string;
  readonly attempt: number;
  readonly tx: unknown;
  readonly emissions: Emission[] = [];
  readonly #tools: CallTools;
  readonly #run: Run;
  readonly #command: CallCommand;
  readonly emit: (event: EmittedEvent) => void;

  constructor(tools: CallTools, run: Run, command: CallCommand, tx: unknown) {
    this.#tools = tools;
    this.#run = run;
    this.#command = command;
    this.sagaId = run.id;
    this.input = run.input;
    this.results = run.results;
    this.attempt = command.attempt;
    this.tx = tx;
    this.key = idempotencyKey(run.id, command.step, this.action);
    this.emit = (event) => {
      const type = checkName(event.type, "An event's type");
      const payload = encodeJson(event.data, { field: `The data of event ${type}` });
      this.emissions.push({ entryId: this.#tools.newId(), type, payload });
    };
  }

  get action(): "act" | "compensate" {
    return this.#command.kind === "act" ? "act" : "compensate";
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get result(): unknown {
    return (this.#run.state.steps[this.#command.index] as StepState).result;
  }

  get actKey(): string {
    return idempotencyKey(this.sagaId, this.#command.step, "act");
  }
}

function withMiddleware(
  middleware: readonly Middleware[],
  run: Run,
  { step, attempt }: CallCommand,
  { sagaId, key, action }: CallContext,
  call: () => unknown,
): unknown {
  if (middleware.length === 0) return call();
  const info: StepCall = { sagaId, saga: run.definition.name, step, action, attempt, key };
  const chain = middleware.reduceRight<() => Promise<unknown>>(
    (next, wrap) => () => wrap(info, next),
    async () => call(),
  );
  return chain();
}

/** Stops the call when its try, its step or its saga has no time left. Returns what to undo when it ends before. */
function watch(
  clock: Clock,
  run: Run,
  timeoutMs: number | undefined,
  stepDeadlineMs: number | undefined,
): (() => void)[] {
  const cancels: (() => void)[] = [];
  const at = (ms: number, reason: "timeout" | "deadline"): void => {
    cancels.push(
      clock.after(ms, () => {
        run.overdue = true;
        run.stop(reason);
      }),
    );
  };
  const now = clock.monotonicMs();
  if (timeoutMs !== undefined) at(timeoutMs, "timeout");
  if (stepDeadlineMs !== undefined) at(run.stepBegunAtMs + stepDeadlineMs - now, "deadline");
  const { state } = run;
  if (run.deadlineAtMs !== undefined && state.status === "RUNNING" && !pivotBegun(state))
    at(run.deadlineAtMs - now, "deadline");
  return cancels;
}

function outcomeOf(returned: unknown, isAct: boolean, step: string): Outcome {
  try {
    if (isErr(returned)) {
      const error = encodeJson(returned.error, { field: `The error of step ${step}`, allowNul: true });
      const value = error === null ? undefined : (JSON.parse(error) as unknown);
      const label = typeof value === "string" && /^[A-Za-z][\w.-]{0,254}$/.test(value) ? value : "Err";
      return { kind: "failed", transient: false, failure: { kind: "err", label, error: value } };
    }
    const value = isOk(returned) ? returned.value : returned;
    // What an undo returns is nobody's input: it is not kept.
    const details = isAct ? encodeJson(value, { field: `The result of step ${step}`, allowNul: true }) : null;
    return { kind: "ok", details };
  } catch {
    return { kind: "failed", transient: false, failure: { kind: "unfit", label: "ResultNotJson" } };
  }
}

function failureOf(tools: CallTools, run: Run, thrown: unknown): Outcome | undefined {
  switch (run.stopReason) {
    case "shutdown":
    case "lost":
      return undefined;
    case "deadline":
      return { kind: "failed", transient: false, failure: { kind: "deadline", label: "DeadlinePassed" } };
    case "timeout":
      return { kind: "failed", transient: true, failure: { kind: "retry", label: "TimedOut" } };
    default: {
      const permanent = classify(thrown) === "permanent";
      const message = run.definition.settings.keepMessages ? messageOf(thrown) : undefined;
      const failure: Failure = {
        kind: permanent ? "terminal" : "retry",
        label: errorLabel(thrown, tools.errorCodes),
        ...(message !== undefined && { message }),
      };
      return { kind: "failed", transient: !permanent, failure };
    }
  }
}

const MESSAGE_MAX = 1_000;

function messageOf(thrown: unknown): string | undefined {
  const message =
    typeof thrown === "string" ? thrown : (thrown as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message.slice(0, MESSAGE_MAX) : undefined;
}
