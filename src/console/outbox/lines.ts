/** Entries of the outbox as the console shows them: references and payloads are masked. */
import { outboxMachine, type OutboxStatus } from "../../core/outbox/machine.ts";
import type { Row } from "../../storage/database.ts";
import type { Json } from "../contract.ts";
import type { OutboxLine } from "../contract-parts.ts";
import { mask } from "../http/mask.ts";
import { iso } from "../sagas/lines.ts";

export function toOutboxLine(row: Row, canRequeue: boolean): OutboxLine {
  const text = (name: string): string | null => (row[name] as string | null) ?? null;
  const at = (name: string): string | null => (row[name] === null ? null : iso(Number(row[name])));
  const status = row["status"] as OutboxStatus;
  const operation = text("operation") as OutboxLine["operation"];
  const refValue = text("ref_value");
  const payload = text("payload");
  return {
    id: row["entry_id"] as string,
    kind: row["kind"] as string,
    name: row["name"] as string,
    status,
    operation,
    subjectId: text("subject_id"),
    sagaId: text("saga_id"),
    refKind: text("ref_kind"),
    ref: refValue === null ? null : mask(refValue),
    payload: payload === null ? null : mask(parsed(payload)),
    attempts: Number(row["attempts"]),
    enqueuedAt: iso(Number(row["enqueued_at"])),
    lastAttemptAt: at("last_attempt_at"),
    nextAttemptAt: at("next_attempt_at"),
    lastError: text("last_error"),
    actions: outboxMachine.sources("requeue").includes(status) ? allowed(row, canRequeue) : [],
  };
}

/** What a person may do to an entry that was given up. */
function allowed(row: Row, canRequeue: boolean): OutboxLine["actions"] {
  switch (row["kind"]) {
    case "event":
    case "delivery":
      return ["retry", "resolve"];
    case "call":
      return ["requeue"];
    default:
      if (!canRequeue) return [];
      // The corrections of an abandoned rectification are cleared: it can be issued again, but not requeued.
      return row["operation"] === "erase" ? ["requeue", "resolve"] : ["resolve"];
  }
}

export function revealEntry(row: Row): Readonly<Record<string, Json>> {
  const {
    ref_value: ref = null,
    ref_extra: extra = null,
    payload = null,
  } = row as Record<string, string | null>;
  return { ref, extra: parsed(extra), payload: parsed(payload) };
}

/** A row that somebody changed by hand must not keep the others from being shown. */
export function parsed(text: string | null): Json {
  try {
    return text === null ? null : (JSON.parse(text) as Json);
  } catch {
    return "unreadable";
  }
}
