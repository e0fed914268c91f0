/**
 * What the conformance suites share. They know no test runner: every case is a name, which begins with the rule that
 * it shows, and a function that rejects with a readable error where the thing under test does not conform.
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

/** Whatever hangs must not take the whole suite with it. */
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
