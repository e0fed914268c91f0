/** A definition as Mermaid text: the same definition always gives the same text. */
import { eachPhrase } from "../../core/saga/steps/each.ts";
import type { Group } from "../../core/saga/steps/group.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import { repeatPhrase } from "../../core/saga/steps/repeat.ts";
import { waitPhrase } from "../../core/saga/steps/wait.ts";
import type { AnySaga } from "../define/definition.ts";
import { following, isIn, preceding } from "./plan-flow.ts";

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
  for (const [index, { name: step, wait, choice, end }] of plan.entries())
    if (!wait && !choice && !end) lines.push(`  participant P${index} as ${step}`);
  for (let index = 0; index < plan.length; index = callsFrom(plan, index, "  ", lines));
  const back = undoable(plan);
  const hook = plan.find(({ end }) => end === "failed");
  if (back.length > 0 || hook) {
    const pivot = plan.some((step) => step.pivot);
    lines.push(`  alt a step fails${pivot ? " before the pivot" : ""}`);
    for (const index of back.toReversed())
      lines.push(`    S->>P${index}: undo ${(plan[index] as PlannedStep).name}`);
    if (hook) lines.push(`    Note over S: ${hook.name}, with the end`);
    lines.push("  end");
  }
  return lines;
}

/** Adds the lines of one step, with the branches of a choice. Returns the place behind them. */
function callsFrom(plan: readonly PlannedStep[], index: number, indent: string, lines: string[]): number {
  const step = plan[index] as PlannedStep;
  if (step.choice) return branches(plan, index, indent, lines);
  lines.push(...calls(plan, index, step).map((line) => indent + line));
  return index + 1;
}

function branches(plan: readonly PlannedStep[], index: number, indent: string, lines: string[]): number {
  const { name } = plan[index] as PlannedStep;
  const branch = (from: number, when: boolean): number => {
    let at = from;
    while (isIn(plan[at], { choice: name, when })) at = callsFrom(plan, at, `${indent}  `, lines);
    return at;
  };
  const opening = lines.push(`${indent}opt ${name}`) - 1;
  const middle = branch(index + 1, true);
  const hasOther = isIn(plan[middle], { choice: name, when: false });
  if (hasOther) {
    lines[opening] = `${indent}alt ${name}`;
    lines.push(`${indent}else not ${name}`);
  }
  const behind = branch(middle, false);
  lines.push(`${indent}end`);
  return behind;
}

/** The lines of one step that is no choice. */
function calls(plan: readonly PlannedStep[], index: number, step: PlannedStep): string[] {
  const act = `S->>P${index}: act ${step.name}`;
  if (step.end) return step.end === "completed" ? [`Note over S: ${step.name}, with the end`] : [];
  if (step.wait) return [`Note over S: ${step.name}, ${waitPhrase(step.wait)}`];
  if (step.each) return [`loop ${eachPhrase(step.each)}`, `  ${act}`, "end"];
  if (step.repeat) return [`loop ${repeatPhrase(step.repeat)}`, `  ${act}`, "end"];
  if (step.child !== undefined) return [`${act}, saga ${step.child}`];
  if (step.group)
    return [
      isFirst(plan, index) ? `par ${groupPhrase(step.group)}` : "and",
      `  ${act}`,
      ...(isLast(plan, index) ? ["end"] : []),
    ];
  if (step.instead !== undefined) return fallback(plan, index);
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
  const hook = plan.findIndex(({ end }) => end === "failed");
  const failed = hook < 0 ? "FAILED" : `undo_${hook}`;
  const undo = (index: number): string => (index < 0 ? failed : `undo_${index}`);
  const pivot = plan.findIndex((step) => step.pivot);
  const lines = ["stateDiagram-v2", `  [*] --> ${place(plan, plan[0]?.end === "failed" ? 1 : 0)}`];
  for (const [index, step] of plan.entries()) {
    if (step.group) lines.push(...region(plan, index, step));
    // A group goes on, or back, when all of its steps have ended.
    if (!isLast(plan, index) || step.end === "failed") continue;
    const from = place(plan, index);
    if (!step.group) lines.push(`  ${from}: ${step.name}${phrase(step)}`);
    const [next = plan.length, other] = following(plan, index);
    lines.push(`  ${from} --> ${place(plan, next)}${step.choice ? ": yes" : ""}`);
    if (step.choice) lines.push(`  ${from} --> ${place(plan, other ?? next)}: no`);
    if (step.fallback !== undefined) lines.push(`  ${from} --> ${place(plan, index + 1)}: fails, fallback`);
    if (step.wait && !mayRunOut(step)) continue;
    if ((pivot >= 0 && index > pivot && !step.pivot) || step.end) lines.push(`  ${from} --> STALLED: fails`);
    else {
      const why = step.wait ? "time is over" : "fails";
      for (const first of step.undo ? [index] : wayBack(plan, index))
        lines.push(`  ${from} --> ${undo(first)}: ${why}`);
    }
  }
  for (const index of undoable(plan)) {
    const { name, fallback: other } = plan[index] as PlannedStep;
    lines.push(`  ${undo(index)}: undo ${name}`);
    if (other !== undefined) lines.push(`  ${undo(index)} --> ${place(plan, index + 1)}: fallback`);
    for (const before of wayBack(plan, index)) lines.push(`  ${undo(index)} --> ${undo(before)}`);
    lines.push(`  ${undo(index)} --> STALLED: tries used up`);
  }
  if (hook >= 0)
    lines.push(
      `  ${failed}: ${(plan[hook] as PlannedStep).name}`,
      `  ${failed} --> FAILED`,
      `  ${failed} --> STALLED: tries used up`,
    );
  lines.push("  COMPLETED --> [*]", "  FAILED --> [*]");
  return lines;
}

/** What kind of step it is, behind its name. */
function phrase({ wait, pivot, each, repeat, child, choice }: PlannedStep): string {
  if (wait) return `, ${waitPhrase(wait)}`;
  if (each) return `, ${eachPhrase(each)}`;
  if (repeat) return `, ${repeatPhrase(repeat)}`;
  if (child !== undefined) return `, saga ${child}`;
  return choice ? "?" : pivot ? " (pivot)" : "";
}

/** The state that a step is in: that of its group, if it has one; behind the last step, the end. */
function place(plan: readonly PlannedStep[], index: number): string {
  const group = plan[index]?.group?.name;
  if (group === undefined)
    return index < plan.length && plan[index]?.end !== "failed" ? `act_${index}` : "COMPLETED";
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
 * fallback, and of two branches, only one was.
 */
function wayBack(plan: readonly PlannedStep[], index: number): readonly number[] {
  const before = preceding(plan, index);
  if (before.length === 0) return [-1];
  return [...new Set(before.flatMap((one) => (plan[one]?.undo === true ? [one] : wayBack(plan, one))))];
}

/** A wait turns the saga back by itself only where it has a time limit, and is not one to do without. */
function mayRunOut({ wait }: PlannedStep): boolean {
  return wait !== undefined && wait.kind !== "sleep" && wait.limitMs !== undefined && wait.goesOn !== true;
}

function undoable(plan: readonly PlannedStep[]): number[] {
  return [...plan.keys()].filter((index) => plan[index]?.undo === true && !plan[index].end);
}
