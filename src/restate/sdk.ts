/**
 * What Amends uses of `@restatedev/restate-sdk`. The application hands the module in, so that the package depends on none of its
 * versions; test/restate holds these types against the real ones.
 */

/** The module `@restatedev/restate-sdk`, as far as Amends uses it. */
export interface RestateSdk<Service> {
  /** Makes a workflow that Restate can serve. */
  workflow(definition: never): Service;
  /** Combines promises of Restate. */
  readonly RestatePromise: {
    /** Resolves as the first of these does. */
    race(promises: never): PromiseLike<unknown>;
  };
  /** An error that Restate does not retry. */
  readonly TerminalError: new (message: string) => Error;
  /** An error that pauses an invocation until an operator resumes it. */
  readonly PauseError: new (message: string) => Error;
}

/** A promise that Restate keeps: it survives the process. */
export interface Durable<T> extends PromiseLike<T> {
  map<Mapped>(mapper: (value?: T, failure?: Error) => Mapped): Durable<Mapped>;
}

/** A promise by name, which a handler resolves and another one awaits. */
export interface NamedPromise<T> {
  get(): Durable<T>;
  peek(): Promise<T | undefined>;
  resolve(value: T): Promise<void>;
}

/** What every handler of a workflow gets. */
export interface SharedContext {
  readonly key: string;
  readonly date: { now(): Promise<number> };
  get<T>(name: string): Promise<T | null>;
  promise<T>(name: string): NamedPromise<T>;
  sleep(ms: number): Durable<void>;
}

/** What the handler gets that runs the saga. */
export interface RunContext extends SharedContext {
  readonly console: { warn(...data: unknown[]): void };
  run<T>(name: string, action: () => Promise<T>): Durable<T>;
  set(name: string, value: unknown): void;
  request(): { readonly attemptCompletedSignal: AbortSignal };
  /** Of the SDK's internal context: Restate's own cancellation of the invocation. */
  cancellation?(): Durable<void>;
}

/** Resolves as the first of these does; always the same one at every replay. */
export type Race = <T>(promises: readonly Durable<T>[]) => PromiseLike<T>;
