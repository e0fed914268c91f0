// The tables that a person reads: ratios first, then what each participant reached, then everything else.
import { holds, ratios } from "./ratios.mjs";

const columns = [
  ["steps/s", "steps_per_s"],
  ["p50 ms", "latency_ms_p50"],
  ["p99 ms", "latency_ms_p99"],
  ["commits/saga", "commits_per_saga"],
  ["WAL B/saga", "wal_bytes_per_saga"],
  ["CPU µs/saga", "cpu_us_per_saga"],
  ["peak MB", "peak_rss_mb"],
];

/** @param {{ ratios: Record<string, number | null>, figures: import("./rounds.mjs").Figures, failures: Record<string, string> }} result */
export function report({ ratios: values, figures, failures }) {
  return [
    "Ratios within this run",
    table(
      ["", "measured", "wanted", ""],
      ratios.filter(({ name }) => values[name] !== null).map((ratio) => ratioRow(ratio, values[ratio.name])),
    ),
    "Five trivial steps per saga, medians of the rounds",
    table(["", "at once", ...columns.map(([title]) => title)], loadRows(figures)),
    ...otherTable(figures),
    ...Object.entries(failures).map(([name, message]) => `${name} failed: ${message}\n`),
  ].join("\n");
}

function ratioRow(ratio, value) {
  const wanted = ratio.atLeast === undefined ? `≤ ${ratio.atMost}` : `≥ ${ratio.atLeast}`;
  return [ratio.says, number(value), wanted, holds(ratio, value) ? "yes" : "NO"];
}

function loadRows(figures) {
  return Object.entries(figures).flatMap(([workload, all]) =>
    settings(all).map((setting, index) => [
      index === 0 ? workload : "",
      setting.slice("at_".length),
      ...columns.map(([, figure]) => number(all[`${setting}.${figure}`]?.median)),
    ]),
  );
}

/** Figures that belong to no concurrency. */
function otherTable(figures) {
  const rows = Object.entries(figures).flatMap(([workload, all]) =>
    Object.entries(all)
      .filter(([name]) => !name.startsWith("at_"))
      .map(([name, { median }]) => [workload, name, number(median)]),
  );
  return rows.length === 0 ? [] : ["Also measured", table(["", "figure", "median"], rows)];
}

function settings(figures) {
  const names = Object.keys(figures).filter((name) => name.startsWith("at_"));
  return [...new Set(names.map((name) => name.slice(0, name.indexOf("."))))];
}

function number(value) {
  if (value === undefined || Number.isNaN(value)) return "–";
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

/** The first column reads to the left, numbers to the right. */
function table(head, rows) {
  if (rows.length === 0) return "  (nothing measured)\n";
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column].length)),
  );
  const line = (row) =>
    `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join("  ")}`.trimEnd();
  return `${[line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n")}\n`;
}
