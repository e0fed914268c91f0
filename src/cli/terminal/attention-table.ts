/** What needs a person, as a table: what it is, since when, why, and which actions help. Each action is a command. */
import type { AttentionLine } from "../../console/contract.ts";
import { ink, type Ink } from "./ink.ts";
import type { Output } from "./output.ts";
import { ago } from "./words.ts";

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
    ink`${actions.join(", ") || "-"}`,
    ink`${reason}`,
  ]);
  const columns = [
    { title: "KIND" },
    { title: "NAME", least: 8 },
    { title: "ID" },
    { title: "SINCE" },
    { title: "ACTIONS" },
    { title: "REASON", least: 12 },
  ];
  output.table(columns, rows, indent);
}
