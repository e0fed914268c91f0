/**
 * The journal of Restate in memory, for tests that end attempts wherever they want: commands in their order, and completions in
 * theirs. An attempt sees one completion after the other, as it waits for them; a replay that asks for another command than
 * before fails the test.
 */
import { setImmediate } from "node:timers/promises";
import type { Durable, NamedPromise, Race, RunContext } from "../../../src/restate/sdk.ts";

interface Command {
  readonly kind: string;
  value?: unknown;
}

/** The lowest command of those that a promise waits for; and what it makes of the value. */
class Completion<T> implements Durable<T> {
  readonly command: number;
  readonly #attempt: Attempt;
  readonly #read: (value: unknown) => T;

  constructor(attempt: Attempt, command: number, read: (value: unknown) => T) {
    this.#attempt = attempt;
    this.command = command;
    this.#read = read;
  }

  map<Mapped>(mapper: (value?: T, failure?: Error) => Mapped): Durable<Mapped> {
    return new Completion(this.#attempt, this.command, (value) => mapper(this.#read(value)));
  }

  read(value: unknown): T {
    return this.#read(value);
  }

  // oxlint-disable-next-line unicorn/no-thenable -- the promises of Restate are such objects
  then<A = T, B = never>(
    onValue?: ((value: T) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): PromiseLike<A | B> {
    return this.#attempt.first([this]).then(onValue, onError);
  }
}

/** One workflow: what outlives its attempts. */
export class Journal {
  readonly commands: Command[] = [];
  /** Completed commands, in the order in which Restate heard of them. */
  readonly completed: number[] = [];
  readonly state = new Map<string, unknown>();
  readonly #named = new Map<string, { value?: unknown; readonly waiting: number[] }>();
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }

  complete(command: number, value: unknown): void {
    if (this.completed.includes(command)) return;
    (this.commands[command] as Command).value = value;
    this.completed.push(command);
  }

  /** Resolves a promise by its name, as a handler of the workflow does. */
  resolve(name: string, value: unknown): void {
    const one = this.named(name);
    // As JSON: nothing is shared between processes.
    one.value = JSON.parse(JSON.stringify(value)) as unknown;
    for (const command of one.waiting) this.complete(command, one.value);
  }

  named(name: string): { value?: unknown; readonly waiting: number[] } {
    const known = this.#named.get(name) ?? { waiting: [] };
    this.#named.set(name, known);
    return known;
  }
}

/** One attempt of the workflow. `dieAt`: it is over as soon as the journal has so many completions. */
export class Attempt {
  readonly #journal: Journal;
  readonly #dieAt: number;
  readonly #over = new AbortController();
  readonly #ready = new Set<number>();
  readonly #runs = new Map<number, () => Promise<unknown>>();
  #next = 0;
  #seen = 0;
  /** Resolves when the attempt is over. */
  readonly died: Promise<"died">;
  #die: () => void = () => undefined;

  constructor(journal: Journal, dieAt: number = Infinity) {
    this.#journal = journal;
    this.#dieAt = dieAt;
    this.died = new Promise((resolve) => (this.#die = () => resolve("died")));
  }

  readonly race: Race = <T>(promises: readonly Durable<T>[]) =>
    this.first(promises as readonly Completion<T>[]);

  get context(): RunContext {
    const journal = this.#journal;
    return {
      key: journal.key,
      console: { warn: () => undefined },
      date: { now: () => Promise.resolve(Date.now()) },
      get: async <T>(name: string) => (journal.state.get(name) as T | undefined) ?? null,
      set: (name, value) => {
        if (!this.#isOver) journal.state.set(name, JSON.parse(JSON.stringify(value)) as unknown);
      },
      request: () => ({ attemptCompletedSignal: this.#over.signal }),
      run: <T>(name: string, action: () => Promise<T>) => {
        const command = this.#command(`run ${name}`);
        if (!journal.completed.includes(command)) this.#runs.set(command, action);
        return this.#completion<T>(command);
      },
      // Time passes at once.
      sleep: (ms) => {
        const command = this.#command(`sleep`);
        this.#runs.set(command, () => setImmediate(ms));
        return this.#completion<undefined>(command);
      },
      promise: <T>(name: string): NamedPromise<T> => ({
        get: () => {
          const command = this.#command(`promise ${name}`);
          const named = journal.named(name);
          named.waiting.push(command);
          if (named.value !== undefined) journal.complete(command, named.value);
          return this.#completion<T>(command);
        },
        peek: async () => journal.named(name).value as T | undefined,
        resolve: async (value) => {
          if (!this.#isOver) journal.resolve(name, value);
        },
      }),
    };
  }

  async first<T>(promises: readonly Completion<T>[]): Promise<T> {
    const { completed, commands } = this.#journal;
    for (;;) {
      if (this.#isOver) return new Promise(() => undefined);
      const found = promises.find(({ command }) => this.#ready.has(command));
      if (found) return found.read(JSON.parse(JSON.stringify(commands[found.command]?.value ?? null)));
      if (this.#seen < completed.length) this.#ready.add(completed[this.#seen++] as number);
      else await this.#work(promises.map(({ command }) => command));
    }
  }

  /** Does what is waited for, and waits until something is completed. */
  async #work(commands: readonly number[]): Promise<void> {
    for (const command of commands) {
      const run = this.#runs.get(command);
      if (!run) continue;
      this.#runs.delete(command);
      void this.#record(command, run);
    }
    await setImmediate();
    if (this.#journal.completed.length >= this.#dieAt) {
      this.#over.abort();
      this.#die();
    }
  }

  /** What throws is not recorded: its attempt is over. */
  async #record(command: number, run: () => Promise<unknown>): Promise<void> {
    try {
      const value = await run();
      if (!this.#isOver) this.#journal.complete(command, JSON.parse(JSON.stringify(value ?? null)));
    } catch (error) {
      if (!this.#isOver) throw error;
    }
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  #command(kind: string): number {
    const number = this.#next++;
    const known = this.#journal.commands[number];
    if (known && known.kind !== kind)
      throw new Error(`command ${number} was ${known.kind}, and is ${kind} at the replay`);
    this.#journal.commands[number] ??= { kind };
    return number;
  }

  #completion<T>(command: number): Durable<T> {
    return new Completion(this, command, (value) => value as T);
  }
}
