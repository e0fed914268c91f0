// A process over a list: one process at a time acts on each item of its list, and has ended durably when `one` resolves.
const atLeastMs = 1_000;

/** @param {number} items @param {{ one(): Promise<unknown>, close(): Promise<unknown> }} side */
export function itemsSide(items, { one, close }) {
  return {
    async slice() {
      const begun = performance.now();
      const cpu = process.cpuUsage();
      let processes = 0;
      do {
        await one();
        processes++;
      } while (performance.now() - begun < atLeastMs);
      const ms = performance.now() - begun;
      const { user, system } = process.cpuUsage(cpu);
      const done = processes * items;
      return { items_per_s: (done * 1000) / ms, cpu_us_per_item: (user + system) / done };
    },
    close,
  };
}
