// npm run bench: runs every workload in interleaved rounds, prints ratios and figures, and writes them as JSON if asked.
// A workload is one file in workloads/ that exports { name, run(context) → figures }; its ratios stand in ratios.mjs.
import { readdirSync, writeFileSync } from "node:fs";
import { openContext } from "./context.mjs";
import { describeMachine, packageVersions } from "./machine.mjs";
import { readOptions, usage } from "./options.mjs";
import { progressLine } from "./progress.mjs";
import { computeRatios } from "./ratios.mjs";
import { report } from "./report.mjs";
import { runRounds } from "./rounds.mjs";
import { serverSettings } from "./server.mjs";

/** A quick run begins no round that would end after this. */
const quickBudgetMs = 110_000;

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help)
    process.stdout.write(
      `${usage}\nWorkloads: ${(await allWorkloads()).map(({ name }) => name).join(", ")}\n`,
    );
  else await bench(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

/** @param {import("./options.mjs").Options} options */
async function bench({ quick, json, only, rounds }) {
  const workloads = chosen(await allWorkloads(), only);
  const progress = progressLine();
  const { context, folder, close } = await openContext({ quick, progress: progress.detail });
  try {
    const machine = await describeMachine({ folder, postgres: context.postgres });
    const { figures, failures, roundsRun, seconds } = await runRounds(workloads, {
      context,
      rounds,
      budgetMs: quick ? quickBudgetMs : Infinity,
      onTurn: progress.turn,
    });
    progress.clear();
    const ratios = computeRatios(figures);
    const settings = {
      quick,
      rounds: roundsRun,
      seconds: Math.round(seconds),
      window: context.window,
      postgres: serverSettings,
      packages: packageVersions(),
    };
    process.stdout.write(
      `${report({ ratios, figures, failures })}\nNode.js ${machine.node}, PostgreSQL ${machine.postgres}, SQLite ${machine.sqlite}, ` +
        `${machine.cores} cores, ${machine.fdatasync_us} µs per fdatasync; rounds: ${roundsRun} of ${rounds}; ${settings.seconds} s in all\n`,
    );
    if (json)
      writeFileSync(json, `${JSON.stringify({ ratios, figures, machine, settings, failures }, null, 2)}\n`);
    if (Object.keys(failures).length > 0) process.exitCode = 1;
  } finally {
    await close();
  }
}

async function allWorkloads() {
  const folder = new URL("./workloads/", import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith(".mjs"));
  return Promise.all(files.toSorted().map((file) => import(new URL(file, folder).href)));
}

function chosen(workloads, only) {
  if (!only) return workloads;
  const names = workloads.map(({ name }) => name);
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new Error(`No workload is called ${unknown.join(", ")}; there are ${names.join(", ")}.`);
  return workloads.filter(({ name }) => only.includes(name));
}
