/** A saga over events, and one run of it, as Mermaid text: the same input always gives the same text. */
import { branchesOf } from "../core/flow/branches.ts";
import { pathPlan } from "./define/chain-check.ts";
import type { AnySagaDef } from "./define/saga-def.ts";
import type { SagaStep } from "./define/saga-step.ts";
import type { FlowView } from "./view.ts";

/** Events and their handlers, with the compensations: commands are dashed. */
export function flowDiagram(saga: AnySagaDef): string {
  const { steps, trigger } = saga;
  const plan = pathPlan(trigger, steps);
  const { before } = branchesOf(plan);
  /** Of the steps that may be done by then, the last one that is undone. */
  const backOf = ({ name }: SagaStep): number =>
    steps.findLastIndex((other) => other.compensation !== undefined && before.get(name)?.has(other.name));
  const lines = ["flowchart LR", `  e0([${trigger.type}]) --> s0[${steps[0]?.name ?? ""}]`];
  for (const [index, step] of steps.entries()) {
    for (const event of plan.steps[index]?.gives ?? []) {
      const followers = plan.steps.flatMap(({ name, takes }, at) =>
        at > index && takes.includes(event) ? [`s${at}[${name}]`] : [],
      );
      for (const next of followers.length > 0 ? followers : ["completed"])
        lines.push(`  s${index} -- ${event} --> ${next}`);
    }
    const back = backOf(step);
    lines.push(`  s${index} -. ${step.failure.type} .-> ${back < 0 ? "failed" : `u${back}`}`);
  }
  for (const [index, step] of steps.entries()) {
    const { name, compensation } = step;
    if (!compensation) continue;
    const back = steps
      .slice(0, index)
      .findLastIndex((other) => other.compensation !== undefined && before.get(name)?.has(other.name));
    lines.push(`  u${index}[/undo ${name}/] -. ${compensation.type} .-> ${back < 0 ? "failed" : `u${back}`}`);
  }
  lines.push("  completed((completed))", "  failed((failed))");
  return `${lines.join("\n")}\n`;
}

/** Every event of one run in order, with its handler. */
export function flowRunDiagram({ saga, run, status, events, failure, notes, notTaken }: FlowView): string {
  const lines = ["sequenceDiagram", `  participant O as ${saga}`];
  const handlers = [...new Set(events.flatMap(({ handler }) => handler ?? []))];
  const place = new Map(handlers.map((name, index) => [name, `H${index}`]));
  for (const [name, id] of place) lines.push(`  participant ${id} as ${name}`);
  lines.push(`  Note over O: run ${run}`);
  for (const { event, handler, status: state, error } of events) {
    const target = handler === undefined ? undefined : place.get(handler);
    if (target === undefined) {
      lines.push(`  O->>O: ${event}`);
      continue;
    }
    lines.push(`  O->>${target}: ${event}`);
    if (state === "succeeded") lines.push(`  ${target}-->>O: answered`);
    else lines.push(`  ${target}--xO: ${error === undefined ? state : `${state}, ${plain(error)}`}`);
  }
  for (const { action, reason } of notes) lines.push(`  Note over O: ${action}, ${plain(reason)}`);
  if (notTaken.length > 0) lines.push(`  Note over O: not taken: ${notTaken.join(", ")}`);
  const why = failure ? `, ${failure.step} ${plain(failure.error)}` : "";
  lines.push(`  Note over O: ${status}${why}`);
  return `${lines.join("\n")}\n`;
}

/**
 * Characters with a meaning in Mermaid: ends of lines and statements, comments and directives, entities and markup.
 */
function plain(text: string): string {
  return text.replaceAll(/[;\n\r#%{}<>]/g, " ");
}
