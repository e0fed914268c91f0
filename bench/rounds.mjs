// Interleaved rounds: every workload once, then all of them again, so that a disk or a neighbour that is slow for a while
// is slow for everybody. Every other round goes backwards.
import { median } from "./statistics.mjs";

/**
 * @typedef {object} Workload
 * @property {string} name
 * @property {number} [rounds]   at most so many; a workload that compares within itself needs no more than one
 * @property {(context: import("./context.mjs").Context) => Promise<Record<string, number>>} run
 *
 * @typedef {{ median: number, rounds: number[] }} Figure
 * @typedef {Record<string, Record<string, Figure>>} Figures   by workload, then by name
 */

/**
 * @param {Workload[]} workloads
 * @param {{ context: import("./context.mjs").Context, rounds: number, budgetMs: number, onTurn: (turn: object) => void }} options
 */
export async function runRounds(workloads, { context, rounds, budgetMs, onTurn }) {
  /** @type {Record<string, Record<string, number[]>>} */
  const series = {};
  /** @type {Record<string, string>} */
  const failures = {};
  /** @type {Record<string, number>} */
  const tookMs = {};
  const begun = performance.now();
  let done = 0;
  let roundsRun = 0;
  for (let round = 0; round < rounds; round++) {
    const turns = workloads.filter(({ name, rounds: most = rounds }) => round < most && !(name in failures));
    if (round % 2 === 1) turns.reverse();
    const expectedMs = turns.reduce((sum, { name }) => sum + (tookMs[name] ?? 0), 0);
    if (performance.now() - begun + expectedMs > budgetMs) break;
    roundsRun++;
    for (const { name, run } of turns) {
      const turnBegun = performance.now();
      onTurn({ round, rounds, name, done: done++, total: turnsIn(workloads, rounds) });
      try {
        for (const [figure, value] of Object.entries(await run(context))) {
          ((series[name] ??= {})[figure] ??= []).push(value);
        }
      } catch (error) {
        failures[name] = error instanceof Error ? error.message : String(error);
      }
      tookMs[name] = performance.now() - turnBegun;
    }
  }
  return { figures: summarise(series), failures, roundsRun, seconds: (performance.now() - begun) / 1000 };
}

function turnsIn(workloads, rounds) {
  return workloads.reduce((sum, { rounds: most = rounds }) => sum + Math.min(most, rounds), 0);
}

/** @returns {Figures} */
function summarise(series) {
  return mapValues(series, (figures) => mapValues(figures, (rounds) => ({ median: median(rounds), rounds })));
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
