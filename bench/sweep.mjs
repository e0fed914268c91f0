// Each side of a comparison at several concurrencies, one slice each: which setting is its best. Sides say which
// concurrencies are worth a try (`sweep`).
import { openSide } from "./side.mjs";

/**
 * @param {import("./comparison.mjs").Comparison[]} comparisons
 * @param {import("./context.mjs").Context} context
 */
export async function sweep(comparisons, context) {
  const rows = [];
  for (const { name: comparison, sides } of comparisons) {
    for (const [name, { sweep: lanesList, ...side }] of Object.entries(sides)) {
      for (const lanes of lanesList ?? []) {
        context.progress(`${comparison}: ${name}, ${lanes} at once`);
        const opened = await openSide(context, { ...side, lanes });
        await opened.slice();
        const figures = [await opened.slice(), await opened.slice()];
        rows.push({ comparison, name, lanes, figures, whole: await opened.close() });
      }
    }
  }
  return rows;
}
