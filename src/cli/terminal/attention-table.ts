/** Attention items: what each is, since when, why, and which actions help. Each action is a command. */
import type { AttentionLine } from "../../console/contract.ts";
import { ink, paint, type Ink } from "./ink.ts";
import type { Output } from "./output.ts";
import { ago } from "./words.ts";

/** Below this width a table would cut off the reason, which matters most: each item then has a line, with its reason below. */
const TABLE_MIN = 120;

export function attentionTable(
  output: Output,
  items: readonly AttentionLine[],
  nowMs: number,
  indent: string = "",
): void {
  const { width } = output;
  if (width !== undefined && width < TABLE_MIN) return attentionLines(output, items, nowMs, indent, width);
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

function attentionLines(
  output: Output,
  items: readonly AttentionLine[],
  nowMs: number,
  indent: string,
  width: number,
): void {
  for (const { kind, name, id, since, reason, actions } of items) {
    const head = `${indent}${kind}  ${name}  ${ago(since, nowMs)}`;
    // An id must stay whole to be copied: it gets a separate line if it does not fit.
    const isShort = head.length + 2 + id.length <= width;
    output.say(
      isShort
        ? ink`${indent}${paint("red", kind)}  ${paint("bold", name)}  ${id}  ${paint("dim", ago(since, nowMs))}`
        : ink`${indent}${paint("red", kind)}  ${paint("bold", name)}  ${paint("dim", ago(since, nowMs))}`,
    );
    if (!isShort) output.say(ink`${indent}  ${id}`);
    for (const line of wrap(`${reason}. Actions: ${actions.join(", ") || "-"}`, width - indent.length - 2))
      output.say(ink`${indent}  ${line}`);
  }
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
