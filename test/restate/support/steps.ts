/** Steps whose effects are in a ledger. */
import { err } from "../../../src/index.ts";
import type { Ledger } from "./ledger.ts";

interface Place {
  readonly sagaId: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

export interface Steps {
  /** Acts and is undone. */
  calm(name: string): { act(place: Place): string; compensate(place: Place): void };
  /** Throws so many times, then returns. */
  failing(name: string, times: number): (place: Place) => string;
  refused(name: string): (place: Place) => ReturnType<typeof err<string>>;
  /** Acts until it is told to stop. */
  endless(name: string): (place: Place) => Promise<never>;
}

export function stepsOn(ledger: Ledger): Steps {
  return {
    calm: (name) => ({
      act: ({ sagaId }) => (ledger.write(sagaId, name), `${name} done`),
      compensate: ({ sagaId }) => ledger.write(sagaId, `undo ${name}`),
    }),
    failing:
      (name, times) =>
      ({ sagaId, attempt }) => {
        ledger.write(sagaId, `${name} ${attempt}`);
        const tries = ledger.of(sagaId).filter((effect) => effect.startsWith(`${name} `)).length;
        if (tries <= times) throw new Error("busy");
        return `${name} at last`;
      },
    refused:
      (name) =>
      ({ sagaId }) => (ledger.write(sagaId, name), err("no")),
    endless:
      (name) =>
      ({ sagaId, signal }) => {
        ledger.write(sagaId, name);
        return new Promise((_, reject) => {
          const stop = (): void => reject(new Error("stopped"));
          if (signal.aborted) return stop();
          signal.addEventListener("abort", stop);
        });
      },
  };
}
