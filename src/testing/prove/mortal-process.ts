/**
 * A process that can be killed without killing ours: an Amends of its own, whose clock and database stop answering in
 * the instant of its death. Nothing of it runs on or writes any more; a transaction that it has open is rolled back, as
 * the database of a process that died does it.
 */
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Database, Session } from "../../storage/database.ts";
import type { SqliteHandle } from "../../storage/sqlite/driver.ts";
import { Amends } from "../../operate/amends.ts";
import type { Worker } from "../../operate/worker.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";

export interface Surroundings {
  readonly database: Database<SqliteHandle>;
  readonly clock: VirtualClock;
  readonly leaseMs: number;
}

export class MortalProcess {
  readonly amends: Amends<SqliteHandle>;
  readonly saga: AnySaga;
  readonly worker: Worker;
  #isAlive = true;
  #onWritten: (() => void) | undefined;
  #die!: (reason: Error) => void;
  readonly #death: Promise<never> = new Promise((_, reject) => (this.#die = reject));
  readonly #alarms = new Set<() => void>();

  constructor(around: Surroundings, makeSaga: (process: MortalProcess) => AnySaga) {
    this.#death.catch(() => undefined);
    this.saga = makeSaga(this);
    const database = this.#database(around.database, this.#clock(around.clock));
    const lease = around.leaseMs;
    this.amends = new Amends({ database, sagas: [this.saga], lease, webhooks: { lease } });
    this.worker = this.amends.worker();
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  kill(): void {
    this.#isAlive = false;
    for (const cancel of this.#alarms) cancel();
    this.#die(new Error("the process died"));
  }

  /** Dies as soon as what it writes next is durable. */
  killWhenWritten(): void {
    this.#onWritten = () => this.kill();
  }

  #clock(clock: VirtualClock): Clock {
    return {
      virtualNowMs: clock.virtualNowMs,
      monotonicMs: () => clock.monotonicMs(),
      after: (ms, callback) => {
        if (!this.#isAlive) return () => undefined;
        const cancel = clock.after(ms, () => {
          this.#alarms.delete(cancel);
          callback();
        });
        this.#alarms.add(cancel);
        return () => {
          this.#alarms.delete(cancel);
          cancel();
        };
      },
    };
  }

  #database(real: Database<SqliteHandle>, clock: Clock): Database<SqliteHandle> {
    const { dialect } = real;
    const sessionOf = (session: Session): Session => ({
      dialect,
      query: (statement) => this.#whileAlive(() => session.query(statement)),
    });
    return {
      dialect,
      clock,
      open: () => this.#whileAlive(() => real.open()),
      query: (statement) => this.#whileAlive(() => real.query(statement)),
      batch: (statements) => this.#whileAlive(() => real.batch(statements), true),
      transaction: (work, foreign = false) =>
        this.#whileAlive(
          () =>
            real.transaction(
              (session, tx) => Promise.race([work(sessionOf(session), tx), this.#death]),
              foreign,
            ),
          foreign,
        ),
      join: (tx) => real.join(tx),
      refuseInside: () => real.refuseInside?.(),
      // Whoever made the database closes it: it outlives its processes.
      close: async () => undefined,
    };
  }

  /** A dead process gets no answer, not even a refusal. */
  async #whileAlive<T>(work: () => Promise<T>, writes: boolean = false): Promise<T> {
    if (!this.#isAlive) return forever();
    try {
      const answer = await work();
      if (writes && this.#isAlive) this.#onWritten?.();
      return this.#isAlive ? answer : await forever<T>();
    } catch (error) {
      if (!this.#isAlive) return await forever<T>();
      throw error;
    }
  }
}

/** What a dead process waits for. */
export function forever<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
