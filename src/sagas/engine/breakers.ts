/**
 * The circuit breakers of this process, one for each step that has one, shared by all sagas of that name that run here.
 * They are not stored: a closed circuit must cost nothing, and what one process cannot reach another one may.
 */
import { admit, CLOSED, report, type Breaker, type Pass, type Verdict } from "../../core/breaker.ts";
import type { Clock } from "../../storage/clock.ts";
import type { BreakerSettings } from "../define/steps/fallback.ts";

export class Breakers {
  readonly #clock: Clock;
  readonly #breakers = new Map<string, Breaker>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined if the call must not be made. */
  admit(name: string, policy: BreakerSettings): Pass | undefined {
    const { breaker, pass } = admit(this.#of(name), policy, this.#clock.monotonicMs());
    this.#breakers.set(name, breaker);
    return pass;
  }

  report(name: string, policy: BreakerSettings, pass: Pass, verdict: Verdict): void {
    const now = this.#clock.monotonicMs();
    this.#breakers.set(name, report(this.#of(name), policy, now, pass, verdict));
  }

  #of(name: string): Breaker {
    return this.#breakers.get(name) ?? CLOSED;
  }
}
