/** Reads what a definition says into what the engine works with, and refuses what does not make sense. */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkName } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import { ACT_RETRY, readRetry, type RetryOptions, type RetryPolicy } from "../../core/backoff.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import type { SagaOptions } from "./definition.ts";
import type { TransactionKind } from "./transaction-kind.ts";
import type { FallbackSettings } from "./fallback-steps.ts";
import type { EventInterest } from "./wait-steps.ts";
import type { AnySignal } from "./signal.ts";

/** Where a step is added. */
export interface Place {
  readonly saga: string;
  readonly settings: SagaSettings;
  readonly before: readonly StepDefinition[];
}

export interface SagaSettings {
  readonly version: number;
  readonly deadlineMs: number | undefined;
  readonly retry: RetryPolicy;
  readonly compensateRetry: RetryPolicy;
  readonly recoveryMax: number;
  /** Undefined: as `new Amends` says. */
  readonly keepMessages: boolean | undefined;
}

/** A step as the engine sees it: the user's functions are called with a context and may return anything. */
export interface StepDefinition {
  readonly name: string;
  readonly planned: PlannedStep;
  readonly act: (context: never) => unknown;
  readonly compensate: ((context: never) => unknown) | undefined;
  readonly retry: RetryPolicy;
  readonly compensateRetry: RetryPolicy;
  readonly timeoutMs: number | undefined;
  readonly deadlineMs: number | undefined;
  readonly transaction: TransactionKind<unknown> | undefined;
  /** When the step behind it takes its place. */
  readonly fallback?: FallbackSettings | undefined;
  /** The event that it waits for. */
  readonly interest?: EventInterest | undefined;
  /** The signal that it waits for. */
  readonly signal?: AnySignal | undefined;
}

const STEPS_MAX = 100;
const SAGA_OPTIONS = ["version", "deadline", "retry", "compensateRetry", "recoveries", "keepMessages"];

export function readSagaOptions(name: string, options: SagaOptions): SagaSettings {
  const where = `Saga ${name}`;
  refuseUnknown(options, SAGA_OPTIONS, where);
  const { version = 1, recoveries = 5 } = options;
  whole(version, 1, `${where}: version`);
  whole(recoveries, 1, `${where}: recoveries`);
  return {
    version,
    recoveryMax: recoveries,
    deadlineMs: optionalMs(options.deadline, `${where}: deadline`),
    retry: readRetry(options.retry, ACT_RETRY, `${where}: retry`),
    compensateRetry: readRetry(options.compensateRetry, ACT_RETRY, `${where}: compensateRetry`),
    keepMessages: options.keepMessages,
  };
}

/** The union of what the three kinds of steps allow: the compiler has told TypeScript users apart already. */
interface GivenStep {
  readonly act?: unknown;
  readonly compensate?: unknown;
  readonly retry?: RetryOptions;
  readonly compensateRetry?: RetryOptions;
  readonly timeout?: Duration;
  readonly deadline?: Duration;
  readonly undoOnErr?: boolean;
  readonly transaction?: TransactionKind<unknown>;
}

const KNOWN = [
  "act",
  "compensate",
  "retry",
  "compensateRetry",
  "timeout",
  "deadline",
  "undoOnErr",
  "transaction",
];

/** The name of a step that is added behind these. */
export function checkPlace(saga: string, before: readonly StepDefinition[], stepName: string): string {
  const name = checkName(stepName, `Saga ${saga}: a step's name`);
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `Saga ${saga}, step ${name}: ${why}.`, { saga, step: name });
  };
  if (before.length >= STEPS_MAX) bad(`a saga has at most ${STEPS_MAX} steps`);
  if (before.some((step) => step.name === name)) bad("there is already a step of that name");
  if (before.some((step) => step.planned.group?.name === name)) bad("there is already a group of that name");
  return name;
}

export function readStep(
  saga: string,
  settings: SagaSettings,
  before: readonly StepDefinition[],
  stepName: string,
  options: unknown,
  pivot: boolean,
): StepDefinition {
  const name = checkPlace(saga, before, stepName);
  const where = `Saga ${saga}, step ${name}`;
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: ${why}.`, { saga, step: name });
  };
  if (typeof options !== "object" || options === null) return bad("give it an object with at least `act`");
  const given = options as GivenStep;
  const unknown = Object.keys(given).find((key) => !KNOWN.includes(key));
  if (unknown !== undefined) bad(`there is no option named ${unknown}`);
  const { act, compensate } = given;
  if (typeof act !== "function") return bad("`act` must be a function");
  if (compensate !== undefined && typeof compensate !== "function")
    return bad("`compensate` must be a function");
  const passed = before.some((step) => step.planned.pivot);
  if (passed && pivot) bad("a saga has one pivot at most");
  if (passed && compensate)
    bad("after the pivot a saga only goes forward, so there is nothing to compensate");
  if (passed && given.deadline !== undefined)
    bad("after the pivot a saga only goes forward, so a deadline cannot turn it back");
  if (given.undoOnErr === true && !compensate) bad("`undoOnErr` needs a `compensate`");
  return {
    name,
    planned: {
      name,
      undo: compensate !== undefined,
      pivot,
      undoOnErr: given.undoOnErr === true,
      atomic: given.transaction !== undefined,
    },
    act: act as StepDefinition["act"],
    compensate: compensate as StepDefinition["compensate"],
    retry: readRetry(given.retry, settings.retry, `${where}: retry`),
    compensateRetry: readRetry(given.compensateRetry, settings.compensateRetry, `${where}: compensateRetry`),
    timeoutMs: optionalMs(given.timeout, `${where}: timeout`),
    deadlineMs: optionalMs(given.deadline, `${where}: deadline`),
    transaction: given.transaction,
  };
}

export function whole(value: number, least: number, field: string): number {
  if (!Number.isInteger(value) || value < least) {
    throw new AmendsError("BAD_DEFINITION", `${field} must be a whole number, ${least} or more.`);
  }
  return value;
}

function optionalMs(value: Duration | undefined, field: string): number | undefined {
  return value === undefined ? undefined : positiveMs(value, field);
}
