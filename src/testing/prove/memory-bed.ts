/** Runs a schedule on a saga in memory. */
import { MemorySaga } from "../memory/saga.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";
import { MemoryProcess } from "../memory/process.ts";
import type { Script } from "./script.ts";
import { NEVER_ENDS, type Found, type MakeSaga, type TestBed } from "./test-bed.ts";

export class MemoryBed implements TestBed {
  readonly clock: VirtualClock;
  readonly #script: Script;
  readonly #id: string;
  readonly #make: MakeSaga;
  #process: MemoryProcess;
  #saga: MemorySaga | undefined;

  constructor(clock: VirtualClock, script: Script, id: string, make: MakeSaga) {
    this.clock = clock;
    this.#script = script;
    this.#id = id;
    this.#make = make;
    this.#process = new MemoryProcess(clock, make);
  }

  get process(): MemoryProcess {
    return this.#process;
  }

  async start(): Promise<void> {
    const now = this.clock.monotonicMs();
    this.#saga = await MemorySaga.start(this.#id, this.#process.saga, this.#script.input, now);
  }

  work(): { process: MemoryProcess; done: Promise<void> } {
    if (!this.#process.isAlive) this.#process = new MemoryProcess(this.clock, this.#make);
    const saga = this.#saga as MemorySaga;
    const record = saga.claim(this.clock.monotonicMs());
    return { process: this.#process, done: this.#process.drive(saga, record) };
  }

  async tell(): Promise<void> {
    throw inMemory("sends nothing");
  }

  async takeBack(): Promise<string> {
    throw inMemory("takes nothing back");
  }

  /** A saga in memory has no children. */
  async find(): Promise<undefined> {
    return undefined;
  }

  async read(): Promise<Found | undefined> {
    const now = this.clock.monotonicMs();
    // A saga whose process died waits until its lease has ended.
    if (!this.#process.isAlive) this.#saga?.abandon(now + this.#script.leaseMs);
    return this.#saga?.read(now);
  }

  async whyOpen(): Promise<string> {
    return NEVER_ENDS;
  }

  async close(): Promise<void> {
    this.#process.kill();
  }
}

/** A saga that needs this runs in a database (test-bed.ts). */
function inMemory(what: string): Error {
  return new Error(`a saga in memory ${what}`);
}
