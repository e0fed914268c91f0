/**
 * What the conformance suites share. They do not depend on a test runner: every case is a name, which begins with
 * the id of its rule, and a function that rejects with a readable error if the implementation does not conform.
 */
export interface ConformanceCase {
  /** The guarantee that the case checks, with the id of its rule. */
  readonly name: string;
  /** Runs the case. Rejects with a readable error if the guarantee does not hold. */
  readonly run: () => Promise<void>;
}

export function waitForReal(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A hanging case must not block the whole suite. */
export async function within(what: string, ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The ${what} did not answer within ${ms} ms.`)), ms);
  });
  try {
    await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
