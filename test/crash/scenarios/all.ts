/** Every scenario by name. Together they reach every durable write and every external call of the library. */
import type { Scenario } from "./scenario.ts";
import { compensating } from "./sagas/compensating.ts";
import { fallback } from "./sagas/fallback.ts";
import { behindPivot } from "./constructs/behind-pivot.ts";
import { choices } from "./constructs/when.ts";
import { endings } from "./constructs/ends.ts";
import { families } from "./constructs/children.ts";
import { firstOfSeveral } from "./constructs/first-of.ts";
import { limits } from "./constructs/limits.ts";
import { lists } from "./constructs/each.ts";
import { progressing } from "./constructs/progress.ts";
import { repeated } from "./constructs/repeat.ts";
import { reversals } from "./constructs/reversed.ts";
import { startedTogether } from "./constructs/starts.ts";
import { flowCompensating } from "./events/compensating.ts";
import { flowForward } from "./events/forward.ts";
import { forward } from "./sagas/forward.ts";
import { poison } from "./sagas/poison.ts";
import { requests } from "./outbox/requests.ts";
import { entries } from "./outbox/entries.ts";
import { interrupted } from "./sagas/interrupted.ts";
import { paused } from "./sagas/paused.ts";
import { parallel } from "./sagas/parallel.ts";
import { waiting } from "./sagas/waiting.ts";

export const sagaScenarios: readonly Scenario[] = [
  ...forward,
  ...compensating,
  ...interrupted,
  ...paused,
  ...waiting,
  ...parallel,
  ...fallback,
];
/** Each construct of sagas beyond a list of steps. */
export const constructScenarios: readonly Scenario[] = [
  ...lists,
  ...choices,
  ...repeated,
  ...families,
  ...reversals,
  ...firstOfSeveral,
  ...behindPivot,
  ...endings,
  ...startedTogether,
  ...progressing,
  ...limits,
];
export const outboxScenarios: readonly Scenario[] = [...entries, ...requests];
export const flowScenarios: readonly Scenario[] = [...flowForward, ...flowCompensating];

export function scenarioOf(name: string): Scenario {
  // The poison saga is not in the matrix, because it would kill the recovery worker too.
  const all = [...sagaScenarios, ...constructScenarios, ...outboxScenarios, ...flowScenarios, poison];
  const found = all.find((scenario) => scenario.name === name);
  if (!found) throw new Error(`There is no scenario named "${name}".`);
  return found;
}
