/** A duty without leases: each poll processes up to one batch of due work and leaves nothing running. */
import type { Duty, DutyLook, Leaving } from "./duty.ts";

export interface ChoreOptions {
  readonly name: string;
  /** A worker drives it only if its `only` names it. Default: every worker drives it. */
  readonly isOptional?: boolean;
  /** Called before a worker begins. Throws if the database does not fit. */
  readonly check?: () => Promise<void>;
  /** What the worker's look reads for it. Undefined: it is polled. */
  readonly look?: DutyLook;
  /** The largest batch of one poll. */
  readonly batch: number;
  /** Processes up to `limit` items and returns their number. */
  readonly run: (limit: number) => Promise<number>;
}

/** The interval of lease checks, long because there are no leases. */
export const NEVER_MS: number = 3_600_000;

const GONE: Leaving = { gone: Promise.resolve() };

export class Chore implements Duty {
  readonly name: string;
  readonly isOptional: boolean | undefined;
  readonly capacity: number;
  readonly renewEveryMs: number = NEVER_MS;
  readonly look: DutyLook | undefined;
  readonly #options: ChoreOptions;
  #isOpen = false;
  #onDue: (ms: number) => void = () => undefined;
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(options: ChoreOptions) {
    this.#options = options;
    this.name = options.name;
    this.isOptional = options.isOptional;
    this.capacity = options.batch;
    this.look = options.look;
  }

  get room(): number {
    return this.#isOpen ? this.capacity : 0;
  }

  accept(capacity: number, onDue: (ms: number) => void): void {
    this.#isOpen = capacity > 0;
    this.#onDue = onDue;
  }

  /** Something becomes due after this delay: the worker polls then. */
  dueIn(ms: number): void {
    this.#onDue(ms);
  }

  async claim(limit: number = this.capacity): Promise<readonly Leaving[]> {
    const run = this.#options.run(limit);
    this.#underWay = run.catch(() => undefined);
    return Array.from({ length: await run }, () => GONE);
  }

  async check(): Promise<void> {
    await this.#options.check?.();
  }

  /** The chore holds nothing between two polls. */
  async renew(): Promise<boolean> {
    return false;
  }

  async drain(): Promise<void> {
    this.#isOpen = false;
    await this.#underWay;
  }
}
