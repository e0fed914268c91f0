// The proof of a saga of five steps: every crash, failure and timeout at each of its calls, and while it compensates.
import { saga } from "../../dist/index.js";
import { prove } from "../../dist/testing.js";
import { numbered } from "./trivial-sagas.mjs";

class World {
  done = new Set();

  /** @param {string} key */
  act(key) {
    this.done.add(key);
    return { key };
  }

  /** @param {string} key */
  undo(key) {
    this.done.delete(key);
  }
}

/** @param {World} world */
const five = (world) => {
  const step = {
    act: ({ key }) => world.act(key),
    compensate: ({ actKey }) => world.undo(actKey),
  };
  return saga("proven", numbered)
    .step("a", step)
    .step("b", step)
    .step("c", step)
    .step("d", step)
    .step("e", step);
};

export async function open() {
  return {
    async slice() {
      const begun = performance.now();
      let schedules = 0;
      do {
        const report = await prove(five, {
          input: { n: 1 },
          world: () => new World(),
          invariant: ({ done }) => done.size === 5 || done.size === 0,
        });
        schedules += report.schedules;
      } while (performance.now() - begun < 1_000);
      return { schedules_per_s: (schedules * 1_000) / (performance.now() - begun) };
    },
    close: async () => undefined,
  };
}
