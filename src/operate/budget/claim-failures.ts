/**
 * The claims that failed in a run of all duties. One part that cannot claim, such as one without a right or a table, must
 * not keep the other parts from their work: the run goes on without it, and throws at its end.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Duty, Leaving } from "../../runtime/duty.ts";

export class ClaimFailures {
  readonly #errors = new Map<Duty, unknown>();

  has(duty: Duty): boolean {
    return this.#errors.has(duty);
  }

  /** Claims up to `limit` rows of a duty; none if the claim fails. */
  async claim(duty: Duty, limit: number): Promise<readonly Leaving[]> {
    try {
      return await duty.claim(limit);
    } catch (error) {
      this.#errors.set(duty, error);
      return [];
    }
  }

  /** Throws the first error. An error of Amends gets the names of all duties whose claim failed; another one stays as it is. */
  throwIfAny(): void {
    const [first] = this.#errors.values();
    if (this.#errors.size === 0) return;
    if (!(first instanceof AmendsError)) throw first;
    const duties = [...this.#errors.keys()].map(({ name }) => name);
    const message = `These duties could not claim work: ${duties.join(", ")}. The others went on. ${first.message}`;
    // The same cause: the message may refer to it for the driver's own message.
    throw new AmendsError(first.code, message, { ...first.details, duties }, { cause: first.cause });
  }
}
