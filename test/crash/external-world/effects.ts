/**
 * The recorded effects of saga steps: one line for each call that began, each call that ended and each event that a
 * call emitted. The checkers compare them with the log.
 */
import type { Middleware, StepCall } from "amends";
import { isErr } from "../../../src/core/result.ts";
import { LineFile } from "./line-file.ts";

export type Outcome = "ok" | "err" | "thrown";

export interface Effect {
  readonly phase: "begun" | "ended" | "emitted" | "repaired";
  readonly sagaId: string;
  readonly step: string;
  readonly action: "act" | "compensate";
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
  /** How the call ended. */
  readonly outcome?: Outcome;
  /** The type of the emitted event. */
  readonly type?: string;
}

/** The moment of a call: not begun, running, or over but its outcome not yet written. */
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

  /** The number of calls under this key so far. */
  countCalls(key: string): number {
    return this.read().filter((effect) => effect.phase === "begun" && effect.key === key).length;
  }

  close(): void {
    this.#lines.close();
  }
}

/** Middleware that records every call and has a crash point at each of its moments. */
export function recorder(
  effects: Effects,
  atPoint: (call: StepCall, moment: CallMoment) => Promise<void> = async () => undefined,
): Middleware {
  return async (call, next) => {
    await atPoint(call, "before");
    effects.append(call, { phase: "begun" });
    await atPoint(call, "during");
    try {
      const value = await next();
      effects.append(call, { phase: "ended", outcome: isErr(value) ? "err" : "ok" });
      return value;
    } catch (error) {
      effects.append(call, { phase: "ended", outcome: "thrown" });
      throw error;
    } finally {
      await atPoint(call, "after");
    }
  };
}
