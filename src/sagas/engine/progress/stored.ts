/**
 * What the storage has of the progress of a saga's calls, and what it should get. Progress has no statement of its own: a renewal of the
 * lease takes it along, and so does a checkpoint that ends a call without an outcome, or one whose progress is stored.
 */
import { encodeProgress, isBegun, openProgress, type Progress } from "../../../core/saga/progress.ts";
import type { SagaState } from "../../../core/saga/state.ts";
import type { Run } from "../../driver/run.ts";

const NONE: Progress = new Map();

/** Progress that is being written. */
export interface ProgressWrite {
  readonly progress: Progress;
  /** Null if there is nothing to keep any more. */
  readonly text: string | null;
}

export class StoredProgress {
  readonly #run: Run;
  /** Undefined while it is not known: a renewal that took progress along has not answered, or what it wrote may be outdated. */
  #stored: Progress | undefined;

  constructor(run: Run) {
    this.#run = run;
    this.#stored = run.progress ?? NONE;
  }

  /** What a renewal takes along; undefined if there is nothing new. */
  forRenewal(): ProgressWrite | undefined {
    const { state, progress } = this.#run;
    if (!progress) return undefined;
    const open = openProgress(state, progress);
    if (open.size === 0 || (this.#stored && isSame(open, this.#stored))) return undefined;
    this.#stored = undefined;
    return { progress: open, text: encodeProgress(open) };
  }

  /**
   * What a checkpoint with this state takes along; undefined if what is stored stays. A checkpoint that does not change the saga's row
   * anyway does so only for a call that is over: its progress is handed on, or is not needed any more.
   */
  forCheckpoint(state: SagaState, isMoving: boolean): ProgressWrite | undefined {
    const { progress = NONE } = this.#run;
    const stored = this.#stored;
    if (progress.size === 0 && stored?.size === 0) return undefined;
    const open = openProgress(state, progress);
    const write = { progress: open, text: encodeProgress(open) };
    if (!stored) return write;
    if (isMoving) return isSame(open, stored) ? undefined : write;
    const isHandedOn = ([name, { json }]: [string, { readonly json: string }]): boolean =>
      !isBegun(state, name) && stored.get(name)?.json !== json;
    const isOver = [...open].some(isHandedOn) || [...stored.keys()].some((name) => !open.has(name));
    return isOver ? write : undefined;
  }

  /** The storage has this. */
  stored({ progress }: ProgressWrite): void {
    this.#stored = progress;
  }

  /** Forgets the calls that are over. */
  settle(state: SagaState): void {
    const { progress } = this.#run;
    if (progress) this.#run.progress = openProgress(state, progress);
  }
}

function isSame(one: Progress, other: Progress): boolean {
  return one.size === other.size && [...one].every(([name, { json }]) => other.get(name)?.json === json);
}
