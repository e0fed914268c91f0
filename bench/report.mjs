// The tables that a person reads: ratios first, then what each side reached.

/** From here on a ratio says that the machine was too busy: another run may come to another value. */
const noisyFrom = 0.05;

const loadColumns = [
  ["steps/s", "steps_per_s"],
  ["p50 ms", "latency_ms_p50"],
  ["p99 ms", "latency_ms_p99"],
  ["commits/saga", "commits_per_saga"],
  ["WAL B/saga", "wal_bytes_per_saga"],
  ["Node.js µs/saga", "cpu_us_per_saga"],
  ["PostgreSQL µs/saga", "database_cpu_us_per_saga"],
  ["peak MB", "peak_rss_mb"],
];
const shown = new Set([
  ...loadColumns.map(([, figure]) => figure),
  "sagas_total",
  "durable_commits_per_saga",
]);

/** @param {{ results: object[], machine: object, seconds: number }} given */
export function report({ results, machine, seconds }) {
  const ratios = results.flatMap((result) => result.ratios);
  return [
    "Ratios within this run",
    table(["", "measured", "±", "wanted", ""], ratios.map(ratioRow)),
    ...results.flatMap(resultTables),
    ...noise(ratios),
    `${describe(machine)}; ${seconds} s in all\n`,
  ].join("\n");
}

/** @param {object} machine */
export function describe({ node, postgres, sqlite, cores, fdatasync_us: sync }) {
  return `Node.js ${node}, PostgreSQL ${postgres}, SQLite ${sqlite}, ${cores} cores, ${sync} µs per fdatasync`;
}

/** @param {import("./comparison.mjs").Ratio} ratio @param {number} value */
export function holds({ atLeast = -Infinity, atMost = Infinity }, value) {
  return value >= atLeast && value <= atMost;
}

/** @param {import("./comparison.mjs").Ratio} ratio */
export function wanted({ atLeast, atMost }) {
  return atLeast === undefined ? (atMost === undefined ? "" : `≤ ${atMost}`) : `≥ ${atLeast}`;
}

function ratioRow({ ratio, value, uncertainty }) {
  const verdict = wanted(ratio) === "" ? "" : holds(ratio, value) ? "yes" : "NO";
  return [ratio.says, number(value), percent(uncertainty), wanted(ratio), verdict];
}

function noise(ratios) {
  const noisy = ratios.filter(({ uncertainty }) => !(uncertainty < noisyFrom));
  if (noisy.length === 0) return [];
  const names = noisy.map(({ ratio }) => ratio.name).join(", ");
  return [
    `Too noisy to compare with another run (or too few rounds): ${names}. Repeat them on a quieter machine.\n`,
  ];
}

function resultTables({ comparison, figures, failures }) {
  const tables = [];
  const loads = Object.entries(figures).filter(([, all]) => all.steps_per_s);
  if (loads.length > 0)
    tables.push(
      comparison.says,
      table(
        ["", ...loadColumns.map(([title]) => title)],
        loads.map(([side, all]) => [side, ...loadColumns.map(([, figure]) => number(all[figure]?.median))]),
      ),
    );
  const others = Object.entries(figures).flatMap(([side, all]) =>
    Object.entries(all)
      .filter(([name]) => !all.steps_per_s || !shown.has(name))
      .map(([name, { median }]) => [side, name, number(median)]),
  );
  if (others.length > 0)
    tables.push(loads.length > 0 ? "" : comparison.says, table(["", "figure", "median"], others));
  return [
    ...tables,
    ...Object.entries(failures).map(([side, why]) => `${comparison.name}, ${side}: ${why}\n`),
  ];
}

export function reportSweep(rows) {
  const columns = loadColumns.filter(([, figure]) => figure !== "peak_rss_mb");
  return table(
    ["", "at once", ...columns.map(([title]) => title)],
    rows.map(({ name, lanes, figures, whole }) => [
      name,
      String(lanes),
      ...columns.map(([, figure]) => number(mean(figures.map((one) => one[figure] ?? whole[figure])))),
    ]),
  );
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function number(value) {
  if (value === undefined || Number.isNaN(value)) return "–";
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

function percent(value) {
  return Number.isNaN(value) ? "?" : `${(value * 100).toFixed(1)} %`;
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
