// One slice of load: keeps a number of sagas in flight and measures a window of it, after a warm-up that is not counted. Runs
// in the process of one side, so that CPU and memory are that side's alone.
import { percentile } from "./statistics.mjs";

export const stepsPerSaga = 5;

/**
 * @typedef {object} Load
 * @property {(lane: number, n: number) => Promise<unknown>} one   one saga, from its start to its durable end
 * @property {number} lanes                                        how many at once
 * @property {number} from                                         the number of the first saga, other than in any slice before
 * @property {number} warmMs
 * @property {number} measureMs
 * @property {() => Promise<number>} [walBytes]                     the WAL position, read at both ends of the window
 */

/** @param {Load} load */
export async function measureLoad({ one, lanes, from, warmMs, measureMs, walBytes }) {
  let ended = 0;
  let stopping = false;
  /** @type {number[] | undefined} */
  let latencies;
  /** @type {(() => void) | undefined} */
  let onEnd;

  async function drive(lane) {
    for (let n = from + lane; !stopping; n += lanes) {
      const begun = performance.now();
      await one(lane, n);
      ended++;
      onEnd?.();
      latencies?.push(performance.now() - begun);
    }
  }
  /** Sagas that shared their last commit end together; both ends of the window stand right behind such a burst. */
  function burst() {
    return new Promise((resolve) => {
      onEnd = () => {
        onEnd = undefined;
        setImmediate(resolve);
      };
    });
  }
  async function snapshot() {
    await burst();
    const taken = { ended, at: performance.now(), cpu: process.cpuUsage() };
    return { ...taken, wal: (await walBytes?.()) ?? 0 };
  }

  const driving = Promise.all(Array.from({ length: lanes }, (_, lane) => drive(lane)));
  // A lane that fails ends the trial at once instead of after the window.
  const failed = driving.then(() => new Promise(() => {}));
  await Promise.race([pause(warmMs), failed]);
  const before = await Promise.race([snapshot(), failed]);
  latencies = [];
  await Promise.race([pause(measureMs), failed]);
  const after = await Promise.race([snapshot(), failed]);
  const measured = latencies;
  latencies = undefined;
  stopping = true;
  await driving;

  const sagas = after.ended - before.ended;
  const cpu = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system;
  return {
    sagas_total: ended,
    steps_per_s: (sagas * stepsPerSaga * 1000) / (after.at - before.at),
    latency_ms_p50: percentile(measured, 0.5),
    latency_ms_p99: percentile(measured, 0.99),
    cpu_us_per_saga: cpu / sagas,
    ...(walBytes && { wal_bytes_per_saga: (after.wal - before.wal) / sagas }),
    peak_rss_mb: process.resourceUsage().maxRSS / 1024,
  };
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
