/** Every scenario, by name. Together they pass every durable point and every foreign call of the engine. */
import type { Scenario } from "../scenario.ts";
import { backward } from "./backward.ts";
import { fallback } from "./fallback.ts";
import { flowBackward } from "./flow-backward.ts";
import { flowForward } from "./flow-forward.ts";
import { forward } from "./forward.ts";
import { poison } from "./poison.ts";
import { requests } from "./requests.ts";
import { runner } from "./runner.ts";
import { steered } from "./steered.ts";
import { acting } from "./together.ts";
import { waiting } from "./waiting.ts";

export const sagaScenarios: readonly Scenario[] = [
  ...forward,
  ...backward,
  ...steered,
  ...waiting,
  ...acting,
  ...fallback,
];
export const outboxScenarios: readonly Scenario[] = [...runner, ...requests];
export const flowScenarios: readonly Scenario[] = [...flowForward, ...flowBackward];

export function scenarioOf(name: string): Scenario {
  // One that kills whoever runs it is no part of the matrix, whose recovering process would be next.
  const all = [...sagaScenarios, ...outboxScenarios, ...flowScenarios, poison];
  const found = all.find((scenario) => scenario.name === name);
  if (!found) throw new Error(`there is no scenario named ${name}`);
  return found;
}
