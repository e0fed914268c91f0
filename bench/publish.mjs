// Renews the figures in docs/performance.md and README.md, between their marks. Only a run of all comparisons may do that.
import { readFileSync, writeFileSync } from "node:fs";
import { holds, number, wanted } from "./report.mjs";

const docs = new URL("../docs/performance.md", import.meta.url);
const readme = new URL("../README.md", import.meta.url);

/** @param {{ results: object[], machine: object, quick: boolean }} run */
export function renewDocs({ results, machine, quick }) {
  replaceBetween(docs, "performance figures", pageOf(results, machine, quick));
  replaceBetween(readme, "performance table", summaryOf(results, quick));
}

function pageOf(results, { node, postgres, sqlite, cores, cpu }, quick) {
  const command = `npm run bench${quick ? " -- --quick" : ""}`;
  return [
    `\`${command}\`, one run on a shared machine with ${cores} cores (${cpu}; Node.js ${node.slice(1)}, PostgreSQL ${postgres}, SQLite ${sqlite}). ` +
      "*±* is the standard error of the median of the rounds.",
    ...results.flatMap(sectionOf),
  ].join("\n\n");
}

function sectionOf({ comparison, ratios, figures, failures }) {
  const loads = Object.entries(figures).filter(([, all]) => all.steps_per_s);
  const rows = ratios.map(({ ratio, value, uncertainty }) => [
    ratio.says,
    `${holds(ratio, value) || wanted(ratio) === "" ? number(value) : `**${number(value)}**`}`,
    Number.isNaN(uncertainty) ? "" : `${(uncertainty * 100).toFixed(1)} %`,
    wanted(ratio),
  ]);
  const left = Object.entries(failures).map(([side, why]) => `${side}: ${why.split("\n")[0]}`);
  return [
    `### ${comparison.says}`,
    ...(rows.length > 0 ? [markdown(["", "measured", "±", "wanted"], rows)] : []),
    ...(loads.length > 0 ? [loadTable(loads)] : []),
    ...(left.length > 0 ? [`Not measured: ${left.join("; ")}.`] : []),
  ];
}

function loadTable(loads) {
  const columns = [
    ["steps/s", "steps_per_s"],
    ["commits/saga", "commits_per_saga"],
    ["WAL bytes/saga", "wal_bytes_per_saga"],
    ["Node.js µs/saga", "cpu_us_per_saga"],
    ["PostgreSQL µs/saga", "database_cpu_us_per_saga"],
    ["peak MB", "peak_rss_mb"],
  ].filter(([, figure]) => loads.some(([, all]) => all[figure]));
  return markdown(
    ["", ...columns.map(([title]) => title)],
    loads.map(([side, all]) => [side, ...columns.map(([, figure]) => number(all[figure]?.median))]),
  );
}

function summaryOf(results, quick) {
  const rows = results.flatMap(({ ratios }) =>
    ratios.filter(({ ratio }) => ratio.inReadme).map(({ ratio, value }) => [ratio.says, number(value)]),
  );
  return markdown([`\`npm run bench${quick ? " -- --quick" : ""}\``, "measured"], rows);
}

function markdown(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [
    line(head),
    `|${head.map((_, column) => (column === 0 ? "---" : "---:")).join("|")}|`,
    ...rows.map(line),
  ].join("\n");
}

function replaceBetween(file, mark, text) {
  const before = readFileSync(file, "utf8");
  const [begin, end] = [`<!-- ${mark}: begin -->`, `<!-- ${mark}: end -->`];
  const [from, to] = [before.indexOf(begin), before.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file.pathname} has no marks for "${mark}".`);
  writeFileSync(file, `${before.slice(0, from + begin.length)}\n${text}\n${before.slice(to)}`);
}
