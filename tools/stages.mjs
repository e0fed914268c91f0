/** Runs the stages of a gate, and prints one line for each. */

/**
 * @typedef {import("./project.mjs").Outcome} Outcome
 * @typedef {readonly [name: string, run: () => Promise<Outcome>]} Stage
 */

/**
 * The stages run side by side; the lines come in their order. Every stage runs even when another one failed, so that one
 * run shows all there is to mend.
 * @param {readonly Stage[]} stages
 * @returns {Promise<boolean>} whether all of them succeeded
 */
export async function runStages(stages) {
  const running = stages.map(async ([name, run]) => {
    const startedAt = performance.now();
    const outcome = await run();
    return { name, outcome, seconds: (performance.now() - startedAt) / 1000 };
  });
  let ok = true;
  for (const one of running) {
    const { name, outcome, seconds } = await one;
    if (!outcome.ok && outcome.output !== "") console.log(outcome.output.trimEnd());
    const verdict = outcome.ok ? "ok    " : "FAILED";
    console.log(`${verdict}  ${name.padEnd(10)} ${seconds.toFixed(1).padStart(6)} s`);
    ok &&= outcome.ok;
  }
  return ok;
}
