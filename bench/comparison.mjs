// Runs one comparison: all of its sides are open at the same time and take turns, slice by slice, every other round backwards.
// A disk or a neighbour that is slow for some seconds is slow for all of them. A ratio is taken within each round, and the
// median of the rounds counts.
import { openSide } from "./side.mjs";
import { median, uncertainty } from "./statistics.mjs";

/**
 * @typedef {import("./side.mjs").Figures} Figures
 * @typedef {Record<string, Figures>} Round   the figures of each side in one round
 *
 * @typedef {object} Ratio
 * @property {string} name
 * @property {string} says
 * @property {number} [atLeast]
 * @property {number} [atMost]
 * @property {boolean} [inReadme]       one of the few that the README shows
 * @property {(round: Round) => number | undefined} of
 *
 * @typedef {object} Comparison
 * @property {string} name
 * @property {string} says
 * @property {number} rounds              of a whole run
 * @property {number} [quickRounds]       undefined: not part of a quick run
 * @property {Record<string, import("./side.mjs").Side>} sides
 * @property {Ratio[]} ratios
 *
 * @typedef {{ median: number, rounds: number[] }} Figure
 * @typedef {object} Compared
 * @property {Record<string, Record<string, Figure>>} figures   by side, then by name
 * @property {{ ratio: Ratio, value: number, rounds: number[], uncertainty: number }[]} ratios
 * @property {Record<string, string>} failures   by side
 */

/**
 * @param {Comparison} comparison
 * @param {import("./context.mjs").Context} context
 * @param {number} rounds
 * @returns {Promise<Compared>}
 */
export async function compare(comparison, context, rounds) {
  /** @type {Map<string, import("./side.mjs").OpenSide>} */
  const open = new Map();
  /** @type {Record<string, string>} */
  const failures = {};
  /** @type {Round[]} */
  const taken = [];
  /** @type {Round} */
  const whole = {};
  const guard = async (side, work) => {
    try {
      return await work();
    } catch (error) {
      failures[side] = error instanceof Error ? error.message : String(error);
      open.delete(side);
      return undefined;
    }
  };
  for (const [name, side] of Object.entries(comparison.sides)) {
    const missing = side.missing?.();
    if (missing !== undefined) {
      failures[name] = `left out: ${missing}`;
      continue;
    }
    context.progress(`${comparison.name}: opening ${name}`);
    await guard(name, async () => {
      open.set(name, await openSide(context, side));
      // The first slice compiles and fills caches.
      await open.get(name).slice();
    });
  }
  for (let n = 0; n < rounds; n++) {
    /** @type {Round} */
    const round = {};
    const turns = n % 2 === 0 ? [...open] : [...open].toReversed();
    for (const [name, side] of turns) {
      context.progress(`${comparison.name}: round ${n + 1} of ${rounds}, ${name}`);
      const figures = await guard(name, () => side.slice());
      if (figures) round[name] = figures;
    }
    taken.push(round);
  }
  for (const [name, side] of open) {
    const figures = await guard(name, () => side.close());
    if (figures) whole[name] = figures;
  }
  return { figures: summary(taken, whole), ratios: ratiosOf(comparison, taken, whole), failures };
}

/** Figures of a whole run count as if each round had had them. */
function ratiosOf({ ratios }, taken, whole) {
  return ratios.flatMap((ratio) => {
    const rounds = taken.flatMap((round) => valueOf(ratio, merged(round, whole)) ?? []);
    if (rounds.length === 0) return [];
    return [{ ratio, value: median(rounds), rounds, uncertainty: uncertainty(rounds) }];
  });
}

/** Undefined if a side that it needs is missing. */
function valueOf({ of }, round) {
  try {
    const value = of(round);
    return Number.isFinite(value) ? value : undefined;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function merged(round, whole) {
  return Object.fromEntries(
    Object.entries(round).map(([side, figures]) => [side, { ...whole[side], ...figures }]),
  );
}

function summary(taken, whole) {
  const figures = {};
  for (const round of taken)
    for (const [side, values] of Object.entries(merged(round, whole)))
      for (const [name, value] of Object.entries(values)) ((figures[side] ??= {})[name] ??= []).push(value);
  return mapValues(figures, (side) => mapValues(side, (rounds) => ({ median: median(rounds), rounds })));
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
