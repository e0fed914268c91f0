/** What happened to one saga, as Mermaid text. */
import { stepOf } from "../../core/saga/part-name.ts";
import type { SagaView, TimelineEntry } from "./view.ts";

/** The kind of diagram. `sequence` shows every call in its order, `state` the path that the saga took. */
export function runDiagram(
  view: Pick<SagaView, "name" | "id" | "status" | "plan" | "timeline">,
  kind: "sequence" | "state" = "sequence",
): string {
  const lines = kind === "sequence" ? sequence(view) : states(view);
  return `${lines.join("\n")}\n`;
}

function sequence({ name: saga, plan, timeline, status }: Parameters<typeof runDiagram>[0]): string[] {
  const lines = ["sequenceDiagram", `  participant S as ${saga}`];
  const place = new Map(
    plan.flatMap(({ name, wait, choice }, index) => (wait || choice ? [] : [[name, index] as const])),
  );
  for (const [name, index] of place) lines.push(`  participant P${index} as ${name}`);
  for (const entry of timeline) {
    const verb = entry.action === "act" ? "act" : "undo";
    const index = place.get(stepOf(entry.name));
    if (entry.kind === "control") lines.push(`  Note over S: ${noted(entry)}`);
    else if (index === undefined) lines.push(`  Note over S: ${waited(entry)}`);
    else if (entry.status === "STARTED" && entry.waitsFor !== undefined)
      lines.push(`  Note over S,P${index}: ${waited(entry)}`);
    else if (entry.status === "STARTED") lines.push(`  S->>P${index}: ${verb} ${entry.name}`);
    else if (entry.status === "COMPLETED") lines.push(`  P${index}-->>S: ${verb} done`);
    else lines.push(`  P${index}--xS: ${verb} failed, ${plain(entry.note ?? "")}`);
  }
  lines.push(`  Note over S: ${status}`);
  return lines;
}

function states({ plan, timeline, status }: Parameters<typeof runDiagram>[0]): string[] {
  const waits = new Set(plan.flatMap(({ name, wait }) => (wait ? [name] : [])));
  const lines = ["stateDiagram-v2"];
  let last = "[*]";
  let count = 0;
  for (const entry of timeline) {
    if (entry.status === "STARTED" && !(waits.has(entry.name) && isOpen(timeline, entry))) continue;
    const id = `s${count++}`;
    const outcome = entry.status === "COMPLETED" ? " done" : " failed";
    const verb = entry.action === "act" ? "act " : "undo ";
    const text = waits.has(entry.name) ? waited(entry) : `${verb}${entry.name}${outcome}`;
    lines.push(`  ${id}: ${entry.kind === "control" ? entry.name : text}`, `  ${last} --> ${id}`);
    last = id;
  }
  lines.push(`  ${last} --> ${status}`);
  if (status === "COMPLETED" || status === "FAILED") lines.push(`  ${status} --> [*]`);
  return lines;
}

/** A wait that nothing has ended yet. */
function isOpen(timeline: readonly TimelineEntry[], { name }: TimelineEntry): boolean {
  return timeline.every((other) => other.name !== name || other.status === "STARTED");
}

function waited({ name, status, waitsFor, note }: TimelineEntry): string {
  if (status === "STARTED" && waitsFor === undefined) return `${name}, begins`;
  if (status === "STARTED") return `${name}, waits for ${plain(waitsFor ?? "")}`;
  return status === "COMPLETED" ? `${name}, over` : `${name} failed, ${plain(note ?? "")}`;
}

function noted({ name, note, by }: TimelineEntry): string {
  return plain([name, note, by && `by ${by}`].filter((part) => part !== undefined && part !== "").join(", "));
}

/** Mermaid reads these as its own: ends of lines and statements, comments and directives, entities and markup. */
function plain(text: string): string {
  return text.replaceAll(/[;\n\r#%{}<>]/g, " ");
}
