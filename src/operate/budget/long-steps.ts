/**
 * Warns of steps whose `timeout` is longer than a run with a budget has for work. A run interrupts such an act, which is no
 * failed attempt: the act is called again in every run, and may never finish.
 */
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { Notices } from "../log/notices.ts";

export class LongSteps {
  readonly #sagas: () => Iterable<AnySaga>;
  readonly #notices: Notices;
  readonly #warned = new Set<string>();

  constructor(sagas: () => Iterable<AnySaga>, notices: Notices) {
    this.#sagas = sagas;
    this.#notices = notices;
  }

  /** Each step is named once per process. */
  warn(workMs: number): void {
    for (const { name, version, steps } of this.#sagas()) {
      for (const { name: step, timeoutMs = 0 } of steps) {
        const key = JSON.stringify([name, version, step]);
        if (timeoutMs <= workMs || this.#warned.has(key)) continue;
        this.#warned.add(key);
        this.#notices.longStep(name, step, timeoutMs, workMs);
      }
    }
  }
}
