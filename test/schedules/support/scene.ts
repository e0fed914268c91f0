/** A process with one saga to schedule, on virtual time. */
import { saga, signal, type Amends, type SagaDefinition } from "amends";
import type { VirtualClock } from "amends/testing";
import { z } from "zod";
import { virtualClock, type AmendsOptions, type TestDatabase } from "../../support/databases.ts";
import { until } from "../../support/until.ts";

export const SECOND = 1_000;
export const MINUTE: number = 60 * SECOND;
export const HOUR: number = 60 * MINUTE;

/** A Wednesday. */
export const NIGHT: number = Date.parse("2026-11-18T00:00:00Z");

export const NOTE = { reason: "a test", by: "ann" };

export const invoiceInput: z.ZodObject<{ month: z.ZodDefault<z.ZodString> }> = z.object({
  month: z.string().default("this"),
});

export type Invoice = SagaDefinition<z.input<typeof invoiceInput>, z.output<typeof invoiceInput>>;

/** `started` collects the ids of the sagas whose act was called. */
export function invoicing(started: string[]): Invoice {
  return saga("invoice", invoiceInput).step("send", {
    act: ({ sagaId }) => void started.push(sagaId),
  });
}

export const go = signal("go", z.object({}));

/** The same, open until it gets the signal `go`. */
export function waiting(started: string[]): Invoice {
  return saga("invoice", invoiceInput)
    .step("send", { act: ({ sagaId }) => void started.push(sagaId) })
    .waitFor("go", { signal: go });
}

export interface Scene {
  readonly clock: VirtualClock;
  readonly amends: Amends;
  readonly started: string[];
  readonly invoice: Invoice;
  /** Moves time, then runs everything that is due. */
  pass(ms: number): Promise<void>;
}

export async function scene(
  database: TestDatabase,
  make: (started: string[]) => Invoice = invoicing,
  options: AmendsOptions = {},
): Promise<Scene> {
  const clock = options.clock ?? virtualClock(NIGHT);
  const started: string[] = [];
  const invoice = make(started);
  const amends = await database.amends({ sagas: [invoice], ...options, clock });
  const pass = async (ms: number): Promise<void> => {
    clock.jump(ms);
    await amends.worker().runOnce({ budget: "1m" });
  };
  return { clock, amends, started, invoice, pass };
}

/** Moves time on, second by second, until the condition holds: a running worker needs its timers, and its database time. */
export async function whileTimePasses<T>(
  clock: VirtualClock,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  return until(async () => {
    await clock.advance(SECOND / 4);
    return look();
  });
}
