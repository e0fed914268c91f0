/** Figures about the outbox. */
import { countUpTo, type Count } from "../../core/count.ts";
import { BLOCKING, type OutboxStatus } from "../../core/outbox/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { age, sign, type Figure } from "../../storage/read/figures.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { changeSign, countStates, oldestDue } from "./figure-queries.ts";

/** Open entries by state. */
export async function countEntries(
  reader: Reader,
  max: number,
): Promise<Readonly<Record<OutboxStatus, Count>>> {
  const [row] = await reader.query(countStates(reader.dialect, max));
  const counts = BLOCKING.map((status) => [status, countUpTo(Number(row?.[status]), max)] as const);
  return Object.fromEntries(counts) as unknown as Record<OutboxStatus, Count>;
}

/** How long the oldest due call or erasure has waited, in milliseconds. */
export function dueEntryAge(dialect: Dialect): Figure<number> {
  return age(dialect, oldestDue(dialect, ["erasure", "call"]));
}

/** The same for deliveries of events. */
export function dueDeliveryAge(dialect: Dialect): Figure<number> {
  return age(dialect, oldestDue(dialect, ["delivery"]));
}

export function outboxSign(dialect: Dialect): Figure<string> {
  return sign(changeSign(dialect));
}
