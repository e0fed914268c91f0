// The outbox's work, whoever does it: so many entries are enqueued in chunks, then one worker drains them. Every entry is
// one call of a resolver that does nothing, so that what is left is the bookkeeping.

/** Entries per transaction when they are enqueued. */
export const chunk = 5000;

/**
 * @typedef {object} Drainer
 * @property {(from: number, to: number) => Promise<unknown>} enqueue   durable when it resolves
 * @property {() => Promise<unknown>} drain                             until every entry is done with, and that is durable
 */

/** @param {number} entries @param {Drainer} drainer */
export async function measureDrain(entries, { enqueue, drain }) {
  const begun = performance.now();
  for (let from = 0; from < entries; from += chunk) await enqueue(from, Math.min(from + chunk, entries));
  const enqueued = performance.now();
  const cpu = process.cpuUsage();
  await drain();
  const drained = performance.now();
  const { user, system } = process.cpuUsage(cpu);
  const perSecond = (ms) => (entries * 1000) / ms;
  return {
    enqueued_per_s: perSecond(enqueued - begun),
    drained_per_s: perSecond(drained - enqueued),
    enqueued_and_drained_per_s: perSecond(drained - begun),
    cpu_us_per_drained: (user + system) / entries,
  };
}

/** Calls back once it was called this often. */
export function countdown(calls) {
  /** @type {() => void} */
  let reached;
  const done = new Promise((resolve) => (reached = resolve));
  let left = calls;
  return {
    done,
    count() {
      left -= 1;
      if (left === 0) reached();
    },
  };
}

/** @param {number} from @param {number} to @param {(n: number) => unknown} make */
export function numbers(from, to, make) {
  return Array.from({ length: to - from }, (_, index) => make(from + index));
}
