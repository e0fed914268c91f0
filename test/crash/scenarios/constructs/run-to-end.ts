/** What the scenarios of this folder have in common: each is about one construct of sagas. */
import type { AnySaga, SagaDefinition } from "amends";
import { ID, type Workload } from "../scenario.ts";

export const nothing = (): void => undefined;

/** Tries that follow one another closely: a failure costs a scenario next to no time. */
export const soon = { attempts: 4, base: 10, cap: 10 } as const;

/** Starts the saga and waits for its end. */
export function runToEnd(order: AnySaga): Workload["run"] {
  return async ({ amends, worker }) => {
    await worker.start();
    await (await amends.start(order as SagaDefinition<object, object>, {}, { id: ID })).result();
  };
}
