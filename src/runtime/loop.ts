/**
 * The polling loop of one duty. It polls when work becomes due here, on a notification of another process, and at
 * every poll interval, because notifications are only hints. A database error stops neither the loop nor running
 * work: the next tick tries again.
 */
import { spread } from "../core/backoff.ts";
import { errorLabel } from "../core/errors.ts";
import { sleep, type Clock } from "../storage/clock.ts";
import type { Duty } from "./duty.ts";

export interface LoopTools {
  readonly clock: Clock;
  /** The id of this process, for jitter: processes that were started together must not poll in step. */
  readonly owner: string;
  readonly pollMs: number;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export class DutyLoop {
  readonly duty: Duty;
  readonly #tools: LoopTools;
  #wake: () => void = () => undefined;
  #woken = false;
  /** When the database last answered, by the monotonic clock; undefined before the first answer. */
  #answeredAtMs: number | undefined;
  /** The last poll found more rows than free slots. */
  #backlog = false;
  /** The next due time of rows that were released here. */
  #alarm: { readonly atMs: number; cancel(): void } | undefined;

  constructor(duty: Duty, tools: LoopTools) {
    this.duty = duty;
    this.#tools = tools;
  }

  /** Runs until the signal aborts. */
  async run(concurrency: number, signal: AbortSignal): Promise<void> {
    const onFree = (): void => {
      if (this.#backlog) this.wakeUp();
    };
    this.duty.accept(this.duty.capacity ?? concurrency, (ms) => this.#dueIn(ms), onFree);
    await Promise.all([this.#claiming(signal), this.renewing(signal)]);
    this.#alarm?.cancel();
  }

  get answeredAtMs(): number | undefined {
    return this.#answeredAtMs;
  }

  wakeUp(): void {
    if (this.#woken) return; // many ends at once wake the loop once
    this.#woken = true;
    this.#wake();
  }

  async renewing(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#tools.clock, this.duty.renewEveryMs, signal);
      if (!signal.aborted) await this.#tryTo("renew", () => this.duty.renew());
    }
  }

  async #claiming(signal: AbortSignal): Promise<void> {
    const { duty } = this;
    const { clock, owner, pollMs } = this.#tools;
    for (let tick = 0; !signal.aborted; tick++) {
      const limit = duty.room;
      this.#woken = false;
      const found = limit > 0 ? await this.#tryTo("claim", async () => (await duty.claim(limit)).length) : 0;
      this.#backlog = limit === 0 ? this.#backlog : found === limit;
      if (signal.aborted || this.#woken || (found === limit && duty.room > 0 && limit > 0)) continue;
      const nap = new AbortController();
      this.#wake = () => nap.abort();
      signal.addEventListener("abort", this.#wake, { once: true });
      await sleep(clock, spread(pollMs, `${owner}${duty.name}`, tick, 0.4), nap.signal);
      signal.removeEventListener("abort", this.#wake);
    }
  }

  async #tryTo<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await work();
      this.#answeredAtMs = this.#tools.clock.monotonicMs();
      return done;
    } catch (error) {
      const cause = errorLabel((error as { cause?: unknown }).cause);
      this.#tools.warn(
        { what, duty: this.duty.name, error: errorLabel(error), cause },
        "amends: the database could not be used; trying again",
      );
      return undefined;
    }
  }

  #dueIn(ms: number): void {
    if (ms <= 0) {
      this.#backlog = true;
      return this.wakeUp();
    }
    const { clock, pollMs } = this.#tools;
    if (ms >= pollMs) return; // the poll comes first
    const atMs = clock.monotonicMs() + ms;
    if (this.#alarm && this.#alarm.atMs <= atMs) return;
    this.#alarm?.cancel();
    const cancel = clock.after(ms, () => {
      this.#alarm = undefined;
      this.wakeUp();
    });
    this.#alarm = { atMs, cancel };
  }
}
