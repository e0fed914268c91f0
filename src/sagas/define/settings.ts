/** Reads what a definition says into what the engine works with, and refuses what does not make sense. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkName } from "../../core/identity.ts";
import { readRetry, type RetryOptions, type RetryPolicy } from "../../core/backoff.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import { END_STEPS } from "../../core/saga/steps/end.ts";
import { optionalMs, type SagaSettings } from "./saga-options.ts";
import type { TransactionKind } from "./transaction-kind.ts";
import type { ChildDefinition } from "./steps/child.ts";
import type { FallbackSettings } from "./steps/fallback.ts";
import type { EventInterest } from "./steps/wait.ts";
import { isSchema, type AnySignal } from "./signal.ts";

/** Where a step is added. */
export interface Place {
  readonly saga: string;
  readonly settings: SagaSettings;
  readonly before: readonly StepDefinition[];
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
  /** What its calls report of their progress. Default: anything that JSON can hold. */
  readonly progress?: StandardSchemaV1 | undefined;
  /** When the step behind it takes its place. */
  readonly fallback?: FallbackSettings | undefined;
  /** The events that it waits for. */
  readonly interests?: readonly EventInterest[] | undefined;
  /** The signals that it waits for. */
  readonly signals?: readonly AnySignal[] | undefined;
  /** Computes its list. `act` is then that of one item. */
  readonly list?: ((context: never) => unknown) | undefined;
  /** The saga that it starts, and waits for. */
  readonly child?: ChildDefinition | undefined;
  /** Its success puts a call into the outbox. */
  readonly enqueues?: boolean | undefined;
}

const STEPS_MAX = 100;
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
  readonly progress?: unknown;
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
  "progress",
];

/** The name of a step that is added behind these. */
export function checkPlace(saga: string, before: readonly StepDefinition[], stepName: string): string {
  const name = checkName(stepName, `Saga ${saga}: a step's name`);
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `Saga ${saga}, step ${name}: ${why}.`, { saga, step: name });
  };
  if (Object.values(END_STEPS).includes(name)) bad("this name is kept for what follows the end of a saga");
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
  const { progress } = given;
  if (progress !== undefined && given.transaction)
    bad("a transactional step has no progress: what it has done is rolled back with a failed try");
  if (progress !== undefined && !isSchema(progress))
    return bad("`progress` must be a schema from a Standard Schema library, such as Zod, Valibot or ArkType");
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
    ...(progress !== undefined && { progress }),
  };
}

/** A step without code of its own: it waits, chooses, or starts a child. */
export function quietStep(
  { settings }: Place,
  name: string,
  kind: Pick<PlannedStep, "wait" | "choice" | "child" | "end"> & Partial<Pick<PlannedStep, "undo">>,
): StepDefinition {
  return {
    name,
    planned: { name, undo: false, pivot: false, undoOnErr: false, atomic: false, ...kind },
    act: () => undefined,
    compensate: undefined,
    retry: settings.retry,
    compensateRetry: settings.compensateRetry,
    timeoutMs: undefined,
    deadlineMs: undefined,
    transaction: undefined,
  };
}
