/** Plays a schedule on a SQLite database in memory, with an Amends and a worker in each process. */
import type { Ground } from "./ground.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";
import { MortalProcess } from "./mortal-process.ts";
import type { Script } from "./script.ts";
import { NEVER_ENDS, type MakeSaga, type TestBed } from "./test-bed.ts";

export class DatabaseBed implements TestBed {
  readonly clock: VirtualClock;
  readonly #ground: Ground;
  readonly #script: Script;
  readonly #leaseMs: number;
  readonly #id: string;
  readonly #make: MakeSaga;
  #process: MortalProcess;

  constructor(ground: Ground, script: Script, leaseMs: number, id: string, make: MakeSaga) {
    this.clock = ground.clock;
    this.#ground = ground;
    this.#script = script;
    this.#leaseMs = leaseMs;
    this.#id = id;
    this.#make = make;
    this.#process = this.#newProcess();
  }

  get process(): MortalProcess {
    return this.#process;
  }

  async start(isUntold: (step: string) => boolean): Promise<void> {
    const { amends, saga } = this.#process;
    await amends.start(saga, this.#script.input, { id: this.#id });
    for (const { name } of saga.steps) {
      const send = this.#script.tell[name];
      if (send && !isUntold(name)) await send(amends, this.#id);
    }
  }

  work(): { process: MortalProcess; done: Promise<void> } {
    const process = this.#living();
    return { process, done: process.worker.runOnce().then(() => undefined) };
  }

  read(): ReturnType<TestBed["read"]> {
    return this.#ground.journal.load(this.#id);
  }

  async whyOpen(): Promise<string> {
    const waiting = (await this.#living().amends.inspect(this.#id))?.waiting;
    if (!waiting) return NEVER_ENDS;
    const what = `${waiting.kind} ${waiting.for ?? ""}`;
    return `step ${waiting.step} waits for ${what}, which nothing sends: pass \`tell: { "${waiting.step}": … }\``;
  }

  async close(): Promise<void> {
    if (!this.#process.isAlive) return;
    await this.#process.amends.close({ deadline: 0 });
    this.#process.kill();
  }

  #living(): MortalProcess {
    if (!this.#process.isAlive) this.#process = this.#newProcess();
    return this.#process;
  }

  #newProcess(): MortalProcess {
    const { database, clock } = this.#ground;
    return new MortalProcess({ database, clock, leaseMs: this.#leaseMs }, this.#make);
  }
}
