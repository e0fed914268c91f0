/** A definition as Mermaid text: the same definition always gives the same text. */
import type { Branch } from "../../core/saga/steps/branch.ts";
import type { End } from "../../core/saga/steps/end.ts";
import { eachPhrase } from "../../core/saga/steps/each.ts";
import type { Group } from "../../core/saga/steps/group.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import { repeatPhrase } from "../../core/saga/steps/repeat.ts";
import { waitPhrase } from "../../core/saga/steps/wait.ts";
import type { AnySaga } from "../define/definition.ts";

/**
 * The kind of diagram. `sequence` shows the calls in their order, `state` shows the possible paths; both include
 * compensation.
 */
export function sagaDiagram(
  saga: Pick<AnySaga, "name" | "plan">,
  kind: "sequence" | "state" = "sequence",
): string {
  const lines = kind === "sequence" ? sequence(saga) : states(saga);
  return `${lines.join("\n")}\n`;
}

function sequence({ name, plan }: Pick<AnySaga, "name" | "plan">): string[] {
  const lines = ["sequenceDiagram", `  participant S as ${name}`];
  for (const [index, step] of plan.entries())
    if (!step.wait && !step.choice && !step.end) lines.push(`  participant P${index} as ${step.name}`);
  lines.push(...calls(plan, 0, undefined, "  "));
  const completed = plan.find(({ end }) => end === "completed");
  if (completed) lines.push(`  S->>S: ${completed.name}`);
  const undos = undoable(plan)
    .toReversed()
    .map((index) => `    S->>P${index}: undo ${(plan[index] as PlannedStep).name}`);
  const hook = (wanted: End): string[] =>
    plan.filter(({ end }) => end === wanted).map((step) => `    S->>S: ${step.name}`);
  const failed = [...undos, ...hook("failed")];
  const pivot = plan.some((step) => step.pivot);
  if (failed.length > 0)
    lines.push(`  alt a step fails${pivot ? " before the pivot" : ""}`, ...failed, "  end");
  const reversed = hook("reversed");
  if (reversed.length > 0) lines.push("  opt it is taken back", ...undos, ...reversed, "  end");
  return lines;
}

/** It follows undos: no step of the way forward comes to it. */
function isOfUndoing({ end }: PlannedStep): boolean {
  return end !== undefined && end !== "completed";
}

/** The calls of the steps of one branch, or of those in none, from this step on. */
function calls(
  plan: readonly PlannedStep[],
  from: number,
  branch: Branch | undefined,
  indent: string,
): string[] {
  const lines: string[] = [];
  const isOwn = (step: PlannedStep): boolean =>
    !step.end && step.branch?.choice === branch?.choice && step.branch?.when === branch?.when;
  for (let index = from; index < plan.length; index++) {
    const step = plan[index] as PlannedStep;
    if (!isOwn(step)) continue;
    if (step.choice) lines.push(...choice(plan, index, indent));
    else lines.push(...callOf(plan, index).map((line) => indent + line));
  }
  return lines;
}

function choice(plan: readonly PlannedStep[], index: number, indent: string): string[] {
  const { name } = plan[index] as PlannedStep;
  const branch = (when: boolean): string[] => calls(plan, index + 1, { choice: name, when }, `${indent}  `);
  const [yes, no] = [branch(true), branch(false)];
  if (no.length === 0) return [`${indent}opt ${name}`, ...yes, `${indent}end`];
  return [`${indent}alt ${name}`, ...yes, `${indent}else not ${name}`, ...no, `${indent}end`];
}

function callOf(plan: readonly PlannedStep[], index: number): string[] {
  const step = plan[index] as PlannedStep;
  const { name, wait, group, each, repeat, child } = step;
  if (wait) return [`Note over S: ${name}, ${waitPhrase(wait)}`];
  const act = `S->>P${index}: act ${name}`;
  if (group) {
    const begin = isFirst(plan, index) ? `par ${groupPhrase(group)}` : "and";
    return [begin, `  ${act}`, ...(isLast(plan, index) ? ["end"] : [])];
  }
  if (step.instead !== undefined) return fallback(plan, index);
  if (each) return [`loop ${eachPhrase(each)}`, `  ${act}`, "end"];
  if (repeat) return [`loop ${repeatPhrase(repeat)}`, `  ${act}`, "end"];
  if (child !== undefined) return [`S->>P${index}: start ${childPhrase(child)}`, `P${index}-->>S: its end`];
  return step.pivot ? [act, `Note over S,P${index}: pivot, from here only forward`] : [act];
}

/** What the step before it may have done is undone before it acts. */
function fallback(plan: readonly PlannedStep[], index: number): string[] {
  const [failed, step] = [plan[index - 1] as PlannedStep, plan[index] as PlannedStep];
  return [
    `opt ${failed.name} fails, fallback`,
    ...(failed.undo ? [`  S->>P${index - 1}: undo ${failed.name}`] : []),
    `  S->>P${index}: act ${step.name}`,
    "end",
  ];
}

function states({ plan }: Pick<AnySaga, "plan">): string[] {
  const failed = plan.findIndex(({ end }) => end === "failed");
  const undo = (index: number): string =>
    index >= 0 ? `undo_${index}` : failed < 0 ? "FAILED" : `undo_${failed}`;
  const lines = ["stateDiagram-v2", `  [*] --> ${place(plan, 0)}`];
  for (const [index, step] of plan.entries()) {
    if (isOfUndoing(step)) continue;
    if (step.group) lines.push(...region(plan, index, step));
    // A group goes on, or back, when all of its steps have ended.
    if (!isLast(plan, index)) continue;
    const from = place(plan, index);
    if (!step.group) lines.push(`  ${from}: ${step.name}${phrase(step)}`);
    for (const [to, answer] of after(plan, index)) lines.push(`  ${from} --> ${place(plan, to)}${answer}`);
    if (step.fallback !== undefined) lines.push(`  ${from} --> ${place(plan, index + 1)}: fails, fallback`);
    lines.push(...failures(plan, index, undo).map((to) => `  ${from} --> ${to}`));
  }
  for (const index of undoable(plan)) {
    const { name, fallback: other } = plan[index] as PlannedStep;
    lines.push(`  ${undo(index)}: undo ${name}`);
    if (other !== undefined) lines.push(`  ${undo(index)} --> ${place(plan, index + 1)}: fallback`);
    for (const before of wayBack(plan, index)) lines.push(`  ${undo(index)} --> ${undo(before)}`);
    lines.push(`  ${undo(index)} --> STALLED: tries used up`);
  }
  if (failed >= 0) {
    lines.push(`  ${undo(failed)}: ${(plan[failed] as PlannedStep).name}`, `  ${undo(failed)} --> FAILED`);
    lines.push(`  ${undo(failed)} --> STALLED: tries used up`);
  }
  lines.push("  COMPLETED --> [*]", "  FAILED --> [*]");
  return lines;
}

/** What kind of step it is, behind its name. */
function phrase({ wait, pivot, each, repeat, child, choice: isChoice }: PlannedStep): string {
  if (wait) return `, ${waitPhrase(wait)}`;
  if (each) return `, ${eachPhrase(each)}`;
  if (repeat) return `, ${repeatPhrase(repeat)}`;
  if (child !== undefined) return `, ${childPhrase(child)}`;
  return isChoice ? "?" : pivot ? " (pivot)" : "";
}

/** Where the saga goes if the step fails. */
function failures(
  plan: readonly PlannedStep[],
  index: number,
  undo: (index: number) => string,
): readonly string[] {
  const step = plan[index] as PlannedStep;
  if (step.wait && !mayRunOut(step)) return [];
  if (step.end) return ["STALLED: tries used up"];
  const pivot = plan.findIndex((one) => one.pivot);
  if (pivot >= 0 && index > pivot && !step.pivot) return ["STALLED: fails"];
  const why = step.wait ? "time is over" : "fails";
  return (step.undo ? [index] : wayBack(plan, index)).map((first) => `${undo(first)}: ${why}`);
}

/** The steps that may follow a step, with the answer of a choice; behind the last one, the end. */
function after(
  plan: readonly PlannedStep[],
  index: number,
): readonly (readonly [index: number, answer: string])[] {
  const step = plan[index] as PlannedStep;
  if (step.choice) {
    const [yes, no] = [following(plan, index, true), following(plan, index, false)];
    return [
      [yes, ": yes"],
      [no, ": no"],
    ];
  }
  return [[following(plan, step.fallback === undefined ? index : index + 1), ""]];
}

/** The next step in the plan that is not in another branch. */
function following(plan: readonly PlannedStep[], index: number, answer?: boolean): number {
  const known = new Map<string, boolean>();
  const { name, branch: own } = plan[index] as PlannedStep;
  if (answer !== undefined) known.set(name, answer);
  for (let branch = own; branch; branch = plan.find((step) => step.name === branch?.choice)?.branch)
    known.set(branch.choice, branch.when);
  for (let next = index + 1; next < plan.length; next++) {
    const step = plan[next] as PlannedStep;
    const { branch } = step;
    if (!isOfUndoing(step) && (!branch || known.get(branch.choice) === branch.when)) return next;
  }
  return plan.length;
}

/** The state that a step is in: that of its group, if it has one; behind the last step, the end. */
function place(plan: readonly PlannedStep[], index: number): string {
  const group = plan[index]?.group?.name;
  const isOver = index >= plan.length || isOfUndoing(plan[index] as PlannedStep);
  if (group === undefined) return isOver ? "COMPLETED" : `act_${index}`;
  return `group_${plan.findIndex((step) => step.group?.name === group)}`;
}

/** One of several steps that act at the same time, inside the state of their group. */
function region(plan: readonly PlannedStep[], index: number, { name, group }: PlannedStep): string[] {
  const act = `act_${index}`;
  const begin = isFirst(plan, index)
    ? `  state "${groupPhrase(group as Group)}" as ${place(plan, index)} {`
    : "    --";
  const lines = [begin, `    [*] --> ${act}`, `    ${act}: ${name}`, `    ${act} --> [*]`];
  return isLast(plan, index) ? [...lines, "  }"] : lines;
}

function groupPhrase({ name, limit }: Group): string {
  return `${name}, ${limit === undefined ? "all" : `at most ${limit}`} at once`;
}

function childPhrase(child: string): string {
  return `saga ${child}`;
}

/** Of its group, where it has one. */
function isFirst(plan: readonly PlannedStep[], index: number): boolean {
  const group = plan[index]?.group?.name;
  return group === undefined || plan[index - 1]?.group?.name !== group;
}

function isLast(plan: readonly PlannedStep[], index: number): boolean {
  const group = plan[index]?.group?.name;
  return group === undefined || plan[index + 1]?.group?.name !== group;
}

/**
 * The undos that may come next where everything before this step was done; -1 where none does. Of a step and its
 * fallback only one was, and a fallback that fails has nothing before it but what came before both. Of two branches only
 * one was.
 */
function wayBack(plan: readonly PlannedStep[], index: number): readonly number[] {
  const first = plan[index]?.instead === undefined ? index : index - 1;
  const before = [...plan.keys()]
    .filter((one) => one < first && after(plan, one).some(([next]) => next === first))
    .toReversed();
  if (before.length === 0) return [-1];
  return [...new Set(before.flatMap((one) => (plan[one]?.undo === true ? [one] : wayBack(plan, one))))];
}

/** A wait turns the saga back by itself only where it has a time limit, and is not one to do without. */
function mayRunOut({ wait }: PlannedStep): boolean {
  return wait !== undefined && wait.kind !== "sleep" && wait.limitMs !== undefined && wait.goesOn !== true;
}

function undoable(plan: readonly PlannedStep[]): number[] {
  return [...plan.keys()].filter((index) => plan[index]?.undo === true && plan[index].end === undefined);
}
