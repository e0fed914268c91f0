/** Plays a schedule on a SQLite database in memory, with an Amends and a worker in each process. */
import type { Ground } from "./ground.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";
import { nameIn } from "./tree.ts";
import { MortalProcess, type MakeMiddleware } from "./mortal-process.ts";
import { REVERSAL, type Script, type ProveTell } from "./script.ts";
import { NEVER_ENDS, type Found, type MakeSaga, type TestBed } from "./test-bed.ts";

export class DatabaseBed implements TestBed {
  readonly clock: VirtualClock;
  readonly #ground: Ground;
  readonly #script: Script;
  readonly #leaseMs: number;
  readonly #id: string;
  readonly #make: MakeSaga;
  readonly #makeMiddleware: MakeMiddleware | undefined;
  #process: MortalProcess;

  constructor(
    ground: Ground,
    script: Script,
    leaseMs: number,
    id: string,
    make: MakeSaga,
    makeMiddleware?: MakeMiddleware,
  ) {
    this.clock = ground.clock;
    this.#ground = ground;
    this.#script = script;
    this.#leaseMs = leaseMs;
    this.#id = id;
    this.#make = make;
    this.#makeMiddleware = makeMiddleware;
    this.#process = this.#newProcess();
  }

  get process(): MortalProcess {
    return this.#process;
  }

  async start(): Promise<void> {
    const { amends, saga } = this.#process;
    await amends.start(saga, this.#script.input, { id: this.#id });
  }

  async tell(send: ProveTell, sagaId: string): Promise<void> {
    await send(this.#living().amends, sagaId);
  }

  async takeBack(): Promise<string> {
    return (await this.#living().amends.reverse(this.#id, REVERSAL)).id;
  }

  work(): { process: MortalProcess; done: Promise<void> } {
    const process = this.#living();
    return { process, done: process.worker.runOnce().then(() => undefined) };
  }

  read(): Promise<Found | undefined> {
    return this.find(this.#id);
  }

  find(id: string): Promise<Found | undefined> {
    return this.#ground.journal.load(id);
  }

  /** Of a saga that waits for its child: why the child is open. */
  async whyOpen(id: string = this.#id, path: string = ""): Promise<string> {
    const waiting = (await this.#living().amends.inspect(id))?.waiting;
    if (!waiting) return NEVER_ENDS;
    const step = nameIn(path, waiting.step);
    const child = (await this.find(id))?.state.steps.find(({ act }) => act === "waiting")?.awaited;
    if (child) return this.whyOpen(child.saga, step);
    const what = `${waiting.kind} ${waiting.for ?? ""}`;
    return `step ${step} waits for ${what}, which nothing sends: pass \`tell: { "${step}": … }\``;
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
    return new MortalProcess({ database, clock, leaseMs: this.#leaseMs }, this.#make, this.#makeMiddleware);
  }
}
