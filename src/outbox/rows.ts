/** The only place that sees what the drivers return for outbox entries: rows in, entries out. */
import type { Correction, OutboxEntry, OutboxOperation, Verification } from "../core/outbox/entry.ts";
import type { OutboxStatus } from "../core/outbox/machine.ts";
import type { Dialect, Row } from "../storage/database.ts";
import { join, raw, sql, type Sql } from "../storage/sql.ts";

const PLAIN = [
  "entry_id",
  "kind",
  "name",
  "subject_id",
  "operation",
  "ref_kind",
  "ref_value",
  "ref_extra",
  "slot",
  "payload",
  "generation",
  "verification",
  "status",
  "attempts",
  "horizons",
  "requeues",
  "token",
  "last_error",
  "traceparent",
];
const INSTANTS = ["enqueued_at", "last_attempt_at", "next_attempt_at"];

/** Columns of an entry's row, under an alias where there is one. */
export function entryColumns(dialect: Dialect, alias?: string): Sql {
  const of = (name: string): string => (alias === undefined ? name : `${alias}.${name}`);
  const instants = INSTANTS.map((name) => sql`${dialect.epochMs(raw(of(name)))} as ${raw(name)}`);
  return join([raw(PLAIN.map(of).join(", ")), ...instants], ", ");
}

export function toEntry(row: Row): OutboxEntry {
  const extra = parsed(row["ref_extra"]) as Record<string, string> | undefined;
  const operation = row["operation"] as OutboxOperation;
  return {
    entryId: row["entry_id"] as string,
    subjectId: row["subject_id"] as string,
    resolver: row["name"] as string,
    ref: {
      kind: row["ref_kind"] as string,
      value: row["ref_value"] as string,
      ...(extra && { extra }),
    },
    operation,
    corrections: operation === "rectify" ? ((parsed(row["payload"]) as Correction[] | undefined) ?? []) : [],
    status: row["status"] as OutboxStatus,
    attempts: Number(row["attempts"]),
    generation: Number(row["generation"]),
    horizons: Number(row["horizons"]),
    requeues: Number(row["requeues"]),
    verification: (row["verification"] as Verification | null) ?? undefined,
    enqueuedAt: new Date(Number(row["enqueued_at"])),
    lastAttemptAt: instant(row["last_attempt_at"]),
    nextAttemptAt: instant(row["next_attempt_at"]),
    lastError: (row["last_error"] as string | null) ?? undefined,
    token: Number(row["token"]),
  };
}

/** A row that somebody changed by hand: nothing can be done with it but tell a person. It must not stop the others. */
export function isReadable(row: Row): boolean {
  const isFine = (text: unknown): boolean => text === null || parsed(text) !== undefined;
  return isFine(row["ref_extra"]) && isFine(row["payload"]);
}

function parsed(text: unknown): object | undefined {
  try {
    const value: unknown = JSON.parse(text as string);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function instant(value: unknown): Date | undefined {
  return value === null || value === undefined ? undefined : new Date(Number(value));
}
