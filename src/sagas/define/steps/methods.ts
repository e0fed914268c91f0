/** The methods with which steps are added to a saga, and to its branches. The compiler's view of them is in builder.ts. */
import type { Duration } from "../../../core/duration.ts";
import type { ParallelOptions } from "../options/parallel.ts";
import type { Place, StepDefinition } from "../settings.ts";
import { readChild } from "./child.ts";
import { readWhen } from "./choice.ts";
import { readEach } from "./each.ts";
import { readStepAndFallback } from "./fallback.ts";
import { readParallel } from "./parallel.ts";
import { readRepeat } from "./repeat.ts";
import { readSleep, readWaitFor } from "./wait.ts";

export interface StepMethods<Built> {
  step(name: string, options: unknown): Built;
  parallel(name: string, group: unknown, options?: ParallelOptions): Built;
  each(name: string, options: unknown): Built;
  when(name: string, predicate: unknown, branch: unknown, otherwise?: unknown): Built;
  repeat(name: string, options: unknown): Built;
  saga(name: string, child: unknown, options: unknown): Built;
  sleep(name: string, duration: Duration): Built;
  waitFor(name: string, options: unknown): Built;
}

/** `add` adds steps behind those of the place. */
export function stepMethods<Built extends object>(
  place: Place,
  add: (steps: readonly StepDefinition[]) => Built,
): StepMethods<Built> {
  const { saga, settings, before } = place;
  return {
    step: (name, options) => add(readStepAndFallback(saga, settings, before, name, options, false)),
    parallel: (name, group, options) => add(readParallel(place, name, group, options)),
    each: (name, options) => add([readEach(place, name, options)]),
    when: (name, predicate, branch, otherwise) =>
      add(readWhen(place, name, predicate, [branch, otherwise], stepMethods)),
    repeat: (name, options) => add([readRepeat(place, name, options)]),
    saga: (name, child, options) => add([readChild(place, name, child, options)]),
    sleep: (name, duration) => add([readSleep(place, name, duration)]),
    waitFor: (name, options) => add([readWaitFor(place, name, options)]),
  };
}
