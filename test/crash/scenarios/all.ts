/** Every scenario by name. Together they reach every durable write and every external call of the library. */
import type { Scenario } from "./scenario.ts";
import { compensating } from "./sagas/compensating.ts";
import { fallback } from "./sagas/fallback.ts";
import { flowCompensating } from "./events/compensating.ts";
import { flowForward } from "./events/forward.ts";
import { forward } from "./sagas/forward.ts";
import { poison } from "./sagas/poison.ts";
import { requests } from "./outbox/requests.ts";
import { entries } from "./outbox/entries.ts";
import { interrupted } from "./sagas/interrupted.ts";
import { parallel } from "./sagas/parallel.ts";
import { waiting } from "./sagas/waiting.ts";

export const sagaScenarios: readonly Scenario[] = [
  ...forward,
  ...compensating,
  ...interrupted,
  ...waiting,
  ...parallel,
  ...fallback,
];
export const outboxScenarios: readonly Scenario[] = [...entries, ...requests];
export const flowScenarios: readonly Scenario[] = [...flowForward, ...flowCompensating];

export function scenarioOf(name: string): Scenario {
  // The poison saga is not in the matrix, because it would kill the recovery worker too.
  const all = [...sagaScenarios, ...outboxScenarios, ...flowScenarios, poison];
  const found = all.find((scenario) => scenario.name === name);
  if (!found) throw new Error(`There is no scenario named "${name}".`);
  return found;
}
