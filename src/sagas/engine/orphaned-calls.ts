/**
 * Calls of one saga that have outlived their time and have not returned. The worker still hears them: until they return,
 * nothing of the saga is undone, the saga is not given back, and its slot stays taken.
 */
import type { Called, CallCommand } from "./call.ts";

export interface OrphanedCall {
  readonly command: CallCommand;
  /** What it does cannot be seen by anybody any more: it only takes its slot. */
  readonly isHarmless: boolean;
  /** Its answer; undefined while it runs, and where it was interrupted. */
  answer: Called | undefined;
  isRunning: boolean;
}

/** A step that is tried again and again while its calls do not return has no more than this many of them. */
export const ORPHANS_MAX = 8;

export class OrphanedCalls {
  #calls: readonly OrphanedCall[] = [];
  readonly #onReturn: (() => void)[] = [];

  /** There are some that run, or that have returned and are not accounted for. */
  get any(): boolean {
    return this.#calls.length > 0;
  }

  get running(): number {
    return this.#calls.reduce((count, { isRunning }) => count + (isRunning ? 1 : 0), 0);
  }

  add(command: CallCommand, late: Promise<Called | undefined>, isHarmless: boolean): void {
    const call: OrphanedCall = { command, isHarmless, answer: undefined, isRunning: true };
    this.#calls = [...this.#calls, call];
    const returned = (answer: Called | undefined): void => {
      call.answer = answer;
      call.isRunning = false;
      for (const wake of this.#onReturn.splice(0)) wake();
    };
    late.then(returned, () => returned(undefined));
  }

  /** Resolves when the next one returns. */
  nextReturn(): Promise<void> {
    return new Promise((resolve) => this.#onReturn.push(resolve));
  }

  /** Those of one step that have returned, and whether others of it still run; undefined where none has returned. */
  returned(): Returned | undefined {
    const first = this.#calls.find(({ isRunning }) => !isRunning);
    if (!first) return undefined;
    const ofStep = this.#calls.filter(({ command }) => command.index === first.command.index);
    const calls = ofStep.filter(({ isRunning }) => !isRunning);
    return { step: first.command.step, calls, isLast: calls.length === ofStep.length };
  }

  /** The answers of these have been recorded, or nobody needs them. */
  forget(calls: readonly OrphanedCall[]): void {
    this.#calls = this.#calls.filter((call) => !calls.includes(call));
  }
}

export interface Returned {
  readonly step: string;
  readonly calls: readonly OrphanedCall[];
  readonly isLast: boolean;
}
