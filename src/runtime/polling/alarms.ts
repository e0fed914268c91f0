/**
 * When a loop has to poll before its poll interval is over. Every due time has its alarm, because rows that become due a moment after
 * an alarm would otherwise wait for the next poll. Due times that are close together share one timer, which fires at the latest of them.
 */
import type { Clock } from "../../storage/clock.ts";

/** Due times within one such window share a timer. */
const WINDOW_MS = 10;

/** Due times that are further away share larger windows: many waits of many seconds then end in few polls. */
const FAR_MS = 1_000;
const FAR_WINDOW_MS = 500;

interface Alarm {
  readonly atMs: number;
  cancel(): void;
}

export class Alarms {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  /** By the width and the number of the window. */
  readonly #alarms = new Map<string, Alarm>();

  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Calls `onDue` once after this long, at most a window later. */
  set(ms: number): void {
    const atMs = this.#clock.monotonicMs() + ms;
    const widthMs = ms <= FAR_MS ? WINDOW_MS : FAR_WINDOW_MS;
    const window = `${widthMs} ${Math.floor(atMs / widthMs)}`;
    const alarm = this.#alarms.get(window);
    if (alarm && alarm.atMs >= atMs) return;
    alarm?.cancel();
    this.#arm(window, atMs);
  }

  cancelAll(): void {
    for (const alarm of this.#alarms.values()) alarm.cancel();
    this.#alarms.clear();
  }

  #arm(window: string, atMs: number): void {
    const cancel = this.#clock.after(atMs - this.#clock.monotonicMs(), () => {
      // A timer of Node.js may fire up to a millisecond early, and the rows are not due then.
      if (this.#clock.monotonicMs() < atMs) return this.#arm(window, atMs);
      this.#alarms.delete(window);
      this.#onDue();
    });
    this.#alarms.set(window, { atMs, cancel });
  }
}
