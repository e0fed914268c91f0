/** Entries of the outbox as the console shows them: references and payloads are masked. */
import { outboxMachine } from "../../core/outbox/machine.ts";
import type { ListedEntry } from "../../outbox/read/entry.ts";
import type { Json } from "../contract.ts";
import type { OutboxLine } from "../contract-parts.ts";
import { mask } from "../http/mask.ts";
import { iso } from "../sagas/lines.ts";

export function toOutboxLine(entry: ListedEntry, canRequeue: boolean): OutboxLine {
  const { entryId, kind, name, status, attempts, refValue, payload } = entry;
  const at = (ms: number | undefined): string | null => (ms === undefined ? null : iso(ms));
  return {
    id: entryId,
    kind,
    name,
    status,
    operation: entry.operation ?? null,
    subjectId: entry.subjectId ?? null,
    sagaId: entry.sagaId ?? null,
    refKind: entry.refKind ?? null,
    ref: refValue === undefined ? null : mask(refValue),
    payload: payload === undefined ? null : mask(parsed(payload)),
    attempts,
    enqueuedAt: iso(entry.enqueuedAt),
    lastAttemptAt: at(entry.lastAttemptAt),
    nextAttemptAt: at(entry.nextAttemptAt),
    lastError: entry.lastError ?? null,
    actions: outboxMachine.sources("requeue").includes(status) ? allowed(entry, canRequeue) : [],
  };
}

/** What a person may do to an abandoned entry. */
function allowed({ kind, operation }: ListedEntry, canRequeue: boolean): OutboxLine["actions"] {
  switch (kind) {
    case "event":
    case "delivery":
      return ["retry", "resolve"];
    case "call":
      return ["requeue"];
    default:
      if (!canRequeue) return [];
      // The corrections of an abandoned rectification are cleared: it can be issued again, but not requeued.
      return operation === "erase" ? ["requeue", "resolve"] : ["resolve"];
  }
}

export function revealEntry({ refValue, refExtra, payload }: ListedEntry): Readonly<Record<string, Json>> {
  return { ref: refValue ?? null, extra: parsed(refExtra), payload: parsed(payload) };
}

/** An entry that was changed by hand must not stop the list. */
export function parsed(text: string | undefined): Json {
  try {
    return text === undefined ? null : (JSON.parse(text) as Json);
  } catch {
    return "unreadable";
  }
}
