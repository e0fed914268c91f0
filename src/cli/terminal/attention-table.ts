/** What needs a person, as a table: what it is, since when, why, and which commands help. */
import type { AttentionLine } from "../../console/contract.ts";
import { ink, type Ink } from "./ink.ts";
import type { Output } from "./output.ts";
import { ago } from "./words.ts";

/** What the console calls otherwise. */
const COMMAND_OF: Readonly<Record<string, string>> = {
  resend: "requeue",
  dismiss: "resolve",
  enable: "retry",
};
const STEERED: ReadonlySet<string> = new Set(["cancel", "retry", "skip", "requeue", "resolve"]);

/** The commands that help with it. */
export function commandsOf(actions: readonly string[]): readonly string[] {
  return [...new Set(actions.map((action) => COMMAND_OF[action] ?? action))].filter((name) =>
    STEERED.has(name),
  );
}

/** With what there is no command for: that is done in the console. */
function helpOf(actions: readonly string[]): string {
  const commands = commandsOf(actions);
  const others = actions.filter((action) => !STEERED.has(COMMAND_OF[action] ?? action));
  const elsewhere = others.length === 0 ? [] : [`in the console: ${others.join(", ")}`];
  return [commands.join(", "), ...elsewhere].filter((words) => words !== "").join("; ") || "-";
}

export function attentionTable(
  output: Output,
  items: readonly AttentionLine[],
  nowMs: number,
  indent: string = "",
): void {
  const rows = items.map(({ kind, name, id, since, reason, actions }): readonly Ink[] => [
    ink`${kind}`,
    ink`${name}`,
    ink`${id}`,
    ink`${ago(since, nowMs)}`,
    ink`${helpOf(actions)}`,
    ink`${reason}`,
  ]);
  const columns = [
    { title: "KIND" },
    { title: "NAME", least: 8 },
    { title: "ID" },
    { title: "SINCE" },
    { title: "HELPS" },
    { title: "WHY", least: 12 },
  ];
  output.table(columns, rows, indent);
}
