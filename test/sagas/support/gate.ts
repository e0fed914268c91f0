/** A place in a step where the test can hold the call: it learns when the call is there, and lets it go on. */
export interface Gate<T = void> {
  /** Resolves when a call has reached the gate. */
  readonly reached: Promise<void>;
  /** What the call awaits. */
  pass(): Promise<T>;
  open(value: T): void;
  /** Lets the call go on by throwing this in it. */
  fail(error: unknown): void;
}

export function gate<T = void>(): Gate<T> {
  let arrive: () => void = () => undefined;
  let open: (value: T) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const reached = new Promise<void>((resolve) => (arrive = resolve));
  const opened = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  // Whoever never passes the gate must not turn its failure into one of the process.
  opened.catch(() => undefined);
  return {
    reached,
    pass() {
      arrive();
      return opened;
    },
    open: (value) => open(value),
    fail: (error) => fail(error),
  };
}

/** Never settles, whatever happens: as a call whose process is gone. */
export function forEver(): Promise<never> {
  return new Promise<never>(() => undefined);
}
