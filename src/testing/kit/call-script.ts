/** What happens to the calls of a test: some of them fail, or end their process. */
import { AmendsError } from "../../core/errors.ts";
import type { InterceptedCall } from "../../runtime/call.ts";
import { forever, type Mortality } from "./mortality.ts";

/** One call of application code that the test kit has seen. */
export interface KitCall {
  /** What was called. */
  readonly part: "step" | "undo" | "handler" | "call" | "resolver" | "webhook";
  /** The name of the step, handler, call or resolver; the type of the event that a webhook sends. */
  readonly name: string;
  /** The number of the attempt; 1 for the first. */
  readonly attempt: number;
  /** The idempotency key of the call. */
  readonly key: string;
}

/** Which calls are meant: a name, or a part and a name, such as `undo charge`. */
type Meant = string;

type Fate =
  | { readonly kind: "fail"; readonly error: unknown }
  | { readonly kind: "crash"; readonly when: "before" | "after" };

interface Order {
  readonly call: Meant;
  readonly fate: Fate;
  /** How often it still happens. */
  left: number;
  /** For `deliverTwice`: each key once. */
  readonly keys: Set<string> | undefined;
}

export class CallScript {
  readonly calls: KitCall[] = [];
  readonly #orders: Order[] = [];
  readonly #running = new Set<Promise<unknown>>();

  /** Resolves when one of the running calls has ended; undefined if none runs. */
  get running(): Promise<unknown> | undefined {
    return this.#running.size === 0 ? undefined : Promise.race(this.#running);
  }

  /** The orders that met no call, as texts. */
  get unmet(): readonly string[] {
    return this.#orders.filter(({ left }) => Number.isFinite(left) && left > 0).map(({ call }) => call);
  }

  order(call: Meant, fate: Fate, times: number, oncePerKey: boolean = false): void {
    if (typeof call !== "string" || call === "")
      throw new AmendsError("BAD_OPTION", "The test kit needs the name of a call.");
    if (!(times >= 1)) throw new AmendsError("BAD_OPTION", "`times` must be a whole number, 1 or more.");
    this.#orders.push({ call, fate, left: times, keys: oncePerKey ? new Set() : undefined });
  }

  /** Makes the call as it was ordered. */
  async make(process: Mortality, call: InterceptedCall, make: () => Promise<unknown>): Promise<unknown> {
    if (!process.isAlive) return forever();
    const fate = this.#fateOf(call);
    if (fate?.kind === "crash" && fate.when === "before") return die(process);
    this.calls.push(call);
    if (fate?.kind === "fail") {
      // A sender answers; everything else throws.
      if (call.part === "webhook") return { ok: false, code: "TestFailure", durationMs: 0 };
      throw fate.error;
    }
    const answer = await this.#ended(make());
    // A dead process gets no answer.
    if (!process.isAlive) return forever();
    if (fate) return die(process);
    if ("thrown" in answer) throw answer.thrown;
    return answer.value;
  }

  /** Waits for a call, and counts it as running meanwhile. */
  async #ended(
    running: Promise<unknown>,
  ): Promise<{ readonly value: unknown } | { readonly thrown: unknown }> {
    this.#running.add(running);
    try {
      return { value: await running };
    } catch (thrown) {
      return { thrown };
    } finally {
      this.#running.delete(running);
    }
  }

  #fateOf({ part, name, key }: InterceptedCall): Fate | undefined {
    const found = this.#orders.find(
      ({ call, left, keys }) =>
        left > 0 && (call === `${part} ${name}` || (call === name && part !== "undo")) && !keys?.has(key),
    );
    if (!found) return undefined;
    found.left--;
    found.keys?.add(key);
    return found.fate;
  }
}

function die(process: Mortality): Promise<never> {
  process.kill();
  return forever();
}
