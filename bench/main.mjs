// npm run bench: runs comparisons, prints ratios and figures, writes them as JSON or into the docs if asked.
import { readdirSync, writeFileSync } from "node:fs";
import { compare } from "./comparison.mjs";
import { openContext } from "./context.mjs";
import { describeMachine, packageVersions } from "./machine.mjs";
import { readOptions, usage } from "./options.mjs";
import { progressLine } from "./progress.mjs";
import { renewDocs } from "./publish.mjs";
import { report, reportSweep } from "./report.mjs";
import { serverSettings } from "./server.mjs";
import { sweep } from "./sweep.mjs";

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    const names = (await allComparisons()).map(({ name, says }) => `  ${name.padEnd(22)} ${says}`);
    process.stdout.write(`${usage}\nComparisons:\n${names.join("\n")}\n`);
  } else await bench(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

/** @param {import("./options.mjs").Options} options */
async function bench({ quick, json, only, rounds, write, ...options }) {
  const comparisons = chosen(await allComparisons(), only, quick);
  const begunAt = performance.now();
  const progress = progressLine();
  const { context, folder, close } = await openContext({ quick, progress: progress.say });
  try {
    const machine = await describeMachine({ folder, postgres: context.postgres });
    if (options.sweep) {
      const swept = await sweep(comparisons, context);
      progress.clear();
      process.stdout.write(reportSweep(swept));
      return;
    }
    const results = [];
    for (const comparison of comparisons) {
      const turns = rounds ?? (quick ? (comparison.quickRounds ?? comparison.rounds) : comparison.rounds);
      results.push({ comparison, ...(await compare(comparison, context, turns)) });
    }
    progress.clear();
    const seconds = Math.round((performance.now() - begunAt) / 1000);
    process.stdout.write(report({ results, machine, seconds }));
    const settings = {
      quick,
      seconds,
      window: context.window,
      postgres: serverSettings,
      packages: packageVersions(),
    };
    if (json) writeFileSync(json, `${JSON.stringify(asJson({ results, machine, settings }), null, 2)}\n`);
    if (write) renewDocs({ results, machine, quick });
    if (results.some(({ failures }) => Object.values(failures).some((why) => !why.startsWith("left out"))))
      process.exitCode = 1;
  } finally {
    await close();
  }
}

/** @returns {Promise<import("./comparison.mjs").Comparison[]>} */
async function allComparisons() {
  const folder = new URL("./comparisons/", import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith(".mjs"));
  return Promise.all(files.toSorted().map((file) => import(new URL(file, folder).href)));
}

function chosen(comparisons, only, quick) {
  if (!only) return quick ? comparisons.filter(({ quickRounds }) => quickRounds !== undefined) : comparisons;
  const names = comparisons.map(({ name }) => name);
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new Error(`No comparison is called ${unknown.join(", ")}; there are ${names.join(", ")}.`);
  return comparisons.filter(({ name }) => only.includes(name));
}

function asJson({ results, machine, settings }) {
  const ratios = results.flatMap((result) =>
    result.ratios.map(({ ratio, value, rounds, uncertainty }) => [
      ratio.name,
      { value, uncertainty, rounds },
    ]),
  );
  const figures = results.map(({ comparison, figures: all }) => [comparison.name, all]);
  const failures = results.map(({ comparison, failures: all }) => [comparison.name, all]);
  return {
    ratios: Object.fromEntries(ratios),
    figures: Object.fromEntries(figures),
    failures: Object.fromEntries(failures),
    machine,
    settings,
  };
}
