/**
 * The durable subscriptions of a process (F-19): its handlers are registered before its worker claims anything, and kept alive
 * with the worker's presence. From the commit of a registration on, every statement that publishes reads it.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import type { Sql } from "../../storage/sql.ts";
import type { SagaRegistry } from "../define/registry.ts";
import { CLASH, findClash, keepAlive, register } from "./queries.ts";

export interface SubscriptionTools {
  readonly dialect: Dialect;
  readonly registry: SagaRegistry;
  readonly query: (statement: Sql) => Promise<readonly Row[]>;
}

/** Registers every handler of this process, in a commit of its own. */
export async function subscribe({ dialect, registry, query }: SubscriptionTools): Promise<void> {
  const { registrations } = registry;
  if (registrations.length === 0) return;
  const [row] = await query(findClash(dialect, registrations));
  if (row) {
    const { recipient, other } = CLASH.read(row);
    throw new AmendsError(
      "BAD_DEFINITION",
      `Handler ${recipient} has the same 32-bit hash as ${other}, which another process has registered. Rename one of them.`,
    );
  }
  await query(register(dialect, registrations));
}

/** The statement that keeps the subscriptions of this process alive. Undefined if there are none. */
export function heartbeat({ dialect, registry }: Omit<SubscriptionTools, "query">): Sql | undefined {
  const { registrations } = registry;
  return registrations.length === 0 ? undefined : keepAlive(dialect, registrations);
}
