/** A definition as Mermaid text: the same definition always gives the same text. */
import type { Group } from "../../core/saga/steps/group.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
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
  for (const [index, { name: step, wait }] of plan.entries())
    if (!wait) lines.push(`  participant P${index} as ${step}`);
  for (const [index, step] of plan.entries()) {
    if (step.wait) {
      lines.push(`  Note over S: ${step.name}, ${waitPhrase(step.wait)}`);
      continue;
    }
    if (step.group) {
      lines.push(isFirst(plan, index) ? `  par ${groupPhrase(step.group)}` : "  and");
      lines.push(`    S->>P${index}: act ${step.name}`);
      if (isLast(plan, index)) lines.push("  end");
      continue;
    }
    if (step.instead !== undefined) {
      lines.push(...fallback(plan, index));
      continue;
    }
    lines.push(`  S->>P${index}: act ${step.name}`);
    if (step.pivot) lines.push(`  Note over S,P${index}: pivot, from here only forward`);
  }
  const back = undoable(plan);
  if (back.length > 0) {
    const pivot = plan.some((step) => step.pivot);
    lines.push(`  alt a step fails${pivot ? " before the pivot" : ""}`);
    for (const index of back.toReversed())
      lines.push(`    S->>P${index}: undo ${(plan[index] as PlannedStep).name}`);
    lines.push("  end");
  }
  return lines;
}

/** What the step before it may have done is undone before it acts. */
function fallback(plan: readonly PlannedStep[], index: number): string[] {
  const [failed, step] = [plan[index - 1] as PlannedStep, plan[index] as PlannedStep];
  return [
    `  opt ${failed.name} fails, fallback`,
    ...(failed.undo ? [`    S->>P${index - 1}: undo ${failed.name}`] : []),
    `    S->>P${index}: act ${step.name}`,
    "  end",
  ];
}

function states({ plan }: Pick<AnySaga, "plan">): string[] {
  const undo = (index: number): string => (index < 0 ? "FAILED" : `undo_${index}`);
  const pivot = plan.findIndex((step) => step.pivot);
  const lines = ["stateDiagram-v2", `  [*] --> ${place(plan, 0)}`];
  for (const [index, step] of plan.entries()) {
    if (step.group) lines.push(...region(plan, index, step));
    // A group goes on, or back, when all of its steps have ended.
    if (!isLast(plan, index)) continue;
    const from = place(plan, index);
    const more = step.wait ? `, ${waitPhrase(step.wait)}` : step.pivot ? " (pivot)" : "";
    if (!step.group) lines.push(`  ${from}: ${step.name}${more}`);
    lines.push(`  ${from} --> ${place(plan, step.fallback === undefined ? index + 1 : index + 2)}`);
    if (step.fallback !== undefined) lines.push(`  ${from} --> ${place(plan, index + 1)}: fails, fallback`);
    if (step.wait && !mayRunOut(step)) continue;
    if (pivot >= 0 && index > pivot && !step.pivot) lines.push(`  ${from} --> STALLED: fails`);
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
  lines.push("  COMPLETED --> [*]", "  FAILED --> [*]");
  return lines;
}

/** The state that a step is in: that of its group, if it has one; behind the last step, the end. */
function place(plan: readonly PlannedStep[], index: number): string {
  const group = plan[index]?.group?.name;
  if (group === undefined) return index < plan.length ? `act_${index}` : "COMPLETED";
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
 * fallback only one was, and a fallback that fails has nothing before it but what came before both.
 */
function wayBack(plan: readonly PlannedStep[], index: number): readonly number[] {
  const last = plan[index]?.instead === undefined ? index - 1 : index - 2;
  if (last < 0) return [-1];
  const branches = plan[last]?.instead === undefined ? [last] : [last, last - 1];
  return [...new Set(branches.flatMap((one) => (plan[one]?.undo === true ? [one] : wayBack(plan, one))))];
}

/** A wait turns the saga back by itself only where it has a time limit, and is not one to do without. */
function mayRunOut({ wait }: PlannedStep): boolean {
  return wait !== undefined && wait.kind !== "sleep" && wait.limitMs !== undefined && wait.goesOn !== true;
}

function undoable(plan: readonly PlannedStep[]): number[] {
  return [...plan.keys()].filter((index) => plan[index]?.undo === true);
}
