// The outbox's work, whoever does it: so many entries are enqueued in chunks, then one worker drains them. Every entry is
// one call of a resolver that does nothing, so that what is left is the bookkeeping. A slice is one such batch.

/** Entries per transaction when they are enqueued. */
const chunk = 5000;

/** What one slice enqueues and drains. */
export const sliceEntries = (quick) => (quick ? 15_000 : 30_000);

/**
 * @typedef {object} Drainer
 * @property {(from: number, to: number) => Promise<unknown>} enqueue   durable when it resolves
 * @property {(entries: number) => Promise<unknown>} drain              until every entry is done with, and that is durable
 * @property {() => Promise<number>} left                               how many entries are not done with
 * @property {() => Promise<unknown>} close
 */

/** @param {number} entries @param {Drainer} drainer */
export function drainSide(entries, { enqueue, drain, left, close }) {
  let next = 0;
  return {
    async slice() {
      const [first, last] = [next, (next += entries)];
      const begun = performance.now();
      for (let from = first; from < last; from += chunk) await enqueue(from, Math.min(from + chunk, last));
      const enqueued = performance.now();
      const cpu = process.cpuUsage();
      await drain(entries);
      const drained = performance.now();
      const { user, system } = process.cpuUsage(cpu);
      const open = await left();
      if (open !== 0) throw new Error(`${open} entries are left.`);
      const perSecond = (ms) => (entries * 1000) / ms;
      return {
        enqueued_per_s: perSecond(enqueued - begun),
        drained_per_s: perSecond(drained - enqueued),
        enqueued_and_drained_per_s: perSecond(drained - begun),
        cpu_us_per_drained: (user + system) / entries,
      };
    },
    close,
  };
}

/** Resolves `reached(calls)` once `count` was called that often. */
export function countdown() {
  let left = 0;
  /** @type {() => void} */
  let done = () => undefined;
  return {
    reached(calls) {
      left += calls;
      return new Promise((resolve) => (done = resolve));
    },
    count() {
      left -= 1;
      if (left === 0) done();
    },
  };
}

/** @param {number} from @param {number} to @param {(n: number) => unknown} make */
export function numbers(from, to, make) {
  return Array.from({ length: to - from }, (_, index) => make(from + index));
}
