import { parseArgs } from "node:util";

export const usage = `Usage: npm run bench -- [options]

  --quick        fewer concurrencies and shorter windows: the whole run takes two minutes at most
  --json FILE    also write ratios and all raw figures to FILE
  --only NAMES   run only these workloads, separated by commas
  --rounds N     how often each workload runs; medians are reported
  --help         this text
`;

/**
 * @typedef {object} Options
 * @property {boolean} quick
 * @property {boolean} help
 * @property {string} [json]
 * @property {string[]} [only]
 * @property {number} rounds
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
      json: { type: "string" },
      only: { type: "string" },
      rounds: { type: "string" },
    },
  });
  const rounds = Number(values.rounds ?? (values.quick ? 2 : 3));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds wants a whole number from 1 on.");
  const only = values.only
    ?.split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  return { quick: values.quick, help: values.help, json: values.json, only, rounds };
}
