import { inspect } from "node:util";
import type { ResolverCall } from "../../../src/erasure/remote/resolver.ts";

export function callOf(given: Partial<ResolverCall> = {}): ResolverCall {
  return { key: "key-1", attempt: 1, signal: new AbortController().signal, subjectId: "subject-1", ...given };
}

export async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
  } catch (thrown) {
    return thrown;
  }
  throw new Error("Nothing was thrown.");
}

/** Everything that can be seen of an error: message, stack, causes, and whatever hangs on it. */
export function portrait(thrown: unknown): string {
  return inspect(thrown, { depth: 10, showHidden: true });
}
