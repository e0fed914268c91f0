/**
 * The steps of a saga and of the children that it starts, by name. `ship>label` is step `label` of the child that step `ship` starts,
 * `reserve[lamp]` the item of a list with the key `lamp`, and `remind[2]` the second round of a step.
 */
import { partName, stepOf } from "../../core/saga/part-name.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import { limitOf } from "../../core/saga/steps/wait.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { StepDefinition } from "../../sagas/define/settings.ts";

/** A step of the saga, or of a child. */
export interface Site {
  readonly name: string;
  /** The name of the step that starts the saga of this step; empty for the saga that is proven. */
  readonly path: string;
  readonly saga: AnySaga;
  /** Where it stands in its saga. */
  readonly index: number;
  readonly step: StepDefinition;
}

/** No name of a step has this character. */
const INTO = ">";

/** The name of a step, or of an item or round, of the saga with this path. */
export function nameIn(path: string, step: string): string {
  return path === "" ? step : `${path}${INTO}${step}`;
}

/** True if one name belongs to a step of the child that the other name starts. */
export function isWithin(name: string, path: string): boolean {
  return path === "" || name.startsWith(`${path}${INTO}`);
}

/** The name of an item. Keys are texts of the application: what has a meaning in a seed is escaped. */
export function itemName(step: string, key: string): string {
  return `${step}[${encodeURIComponent(key)}]`;
}

export function roundName(step: string, round: number): string {
  return partName(step, round);
}

/** All steps, those of children behind the step that starts them. */
export function sitesOf(saga: AnySaga, path: string = ""): readonly Site[] {
  return saga.steps.flatMap((step, index) => {
    const name = nameIn(path, step.name);
    const site: Site = { name, path, saga, index, step };
    return step.child ? [site, ...sitesOf(step.child.saga, name)] : [site];
  });
}

/** The step to which a call belongs. */
export function siteOf(saga: AnySaga, call: string): Site | undefined {
  const name = stepOf(call);
  return sitesOf(saga).find((site) => site.name === name);
}

/** The saga and its children, each once. */
export function sagasOf(saga: AnySaga): readonly AnySaga[] {
  return [...new Set([saga, ...sitesOf(saga).map((site) => site.saga)])];
}

/** True if the step calls code of the application that may return err. */
export function mayErr({ wait, choice, child, end }: PlannedStep): boolean {
  return wait === undefined && choice !== true && child === undefined && end === undefined;
}

/** True if something is sent to the step. */
export function isTold({ wait, repeat }: PlannedStep): boolean {
  return wait !== undefined || repeat?.until !== undefined;
}

/** True if the step goes on or fails when nothing is sent to it. */
export function isPatient({ wait, repeat }: PlannedStep): boolean {
  return repeat?.until !== undefined || (wait !== undefined && limitOf(wait) !== undefined);
}
