/** Every scenario, by name. Together they pass every durable point and every foreign call of the engine. */
import type { Scenario } from "../scenario.ts";
import { backward } from "./backward.ts";
import { forward } from "./forward.ts";
import { steered } from "./steered.ts";

export const scenarios: readonly Scenario[] = [...forward, ...backward, ...steered];

export function scenarioOf(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (!found) throw new Error(`there is no scenario named ${name}`);
  return found;
}
