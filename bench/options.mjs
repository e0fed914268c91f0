import { parseArgs } from "node:util";

export const usage = `Usage: npm run bench -- [options]

  --quick        the main comparisons with fewer and shorter rounds, in about six minutes
  --json FILE    also write ratios and all raw figures to FILE
  --only NAMES   run only these comparisons, separated by commas
  --rounds N     how often the sides of a comparison take turns; medians are reported
  --sweep        instead: each side at several concurrencies, to find the setting at which it is fastest
  --write        renew the figures in docs/performance.md and README.md
  --help         this text
`;

/**
 * @typedef {object} Options
 * @property {boolean} quick
 * @property {boolean} help
 * @property {boolean} sweep
 * @property {boolean} write
 * @property {string} [json]
 * @property {string[]} [only]
 * @property {number} [rounds]
 */

/**
 * @param {string[]} args
 * @returns {Options}
 */
export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      sweep: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      json: { type: "string" },
      only: { type: "string" },
      rounds: { type: "string" },
    },
  });
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && (!Number.isInteger(rounds) || rounds < 1))
    throw new Error("--rounds wants a whole number from 1 on.");
  const only = values.only
    ?.split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const { quick, help, sweep, write, json } = values;
  return { quick, help, sweep, write, json, only, rounds };
}
