/**
 * What the steps of sagas did in the outside world: one line per call that began, per call that ended, per event that a
 * call sent out. The checker holds it against the books.
 */
import type { Middleware, StepCall } from "amends";
import { isErr } from "../../src/core/result.ts";
import { LineFile } from "./line-file.ts";

export type Outcome = "ok" | "err" | "thrown";

export interface Effect {
  readonly phase: "begun" | "ended" | "emitted" | "mended";
  readonly sagaId: string;
  readonly step: string;
  readonly action: "act" | "compensate";
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
  /** How the call ended. */
  readonly outcome?: Outcome;
  /** The type of the event that was sent out. */
  readonly type?: string;
}

/** Where a call stands: nothing has happened yet, it is under way, it is over and not yet booked. */
export type CallMoment = "before" | "during" | "after";

export class Effects {
  readonly #lines: LineFile<Effect>;

  constructor(file: string) {
    this.#lines = new LineFile(file);
  }

  append(call: StepCall, more: Pick<Effect, "phase" | "outcome" | "type">): void {
    const { sagaId, step, action, key, attempt } = call;
    this.#lines.append({ ...more, sagaId, step, action, key, attempt, pid: process.pid });
  }

  read(): readonly Effect[] {
    return this.#lines.read();
  }

  /** How often the world was asked under this key so far. */
  calls(key: string): number {
    return this.read().filter((effect) => effect.phase === "begun" && effect.key === key).length;
  }

  close(): void {
    this.#lines.close();
  }
}

/** Middleware that writes down every call, and says where each stands so that a process can be stopped there. */
export function recorder(
  effects: Effects,
  reach: (call: StepCall, moment: CallMoment) => Promise<void> = async () => undefined,
): Middleware {
  return async (call, next) => {
    await reach(call, "before");
    effects.append(call, { phase: "begun" });
    await reach(call, "during");
    try {
      const value = await next();
      effects.append(call, { phase: "ended", outcome: isErr(value) ? "err" : "ok" });
      return value;
    } catch (error) {
      effects.append(call, { phase: "ended", outcome: "thrown" });
      throw error;
    } finally {
      await reach(call, "after");
    }
  };
}
