/** The audit events of an outcome: entry, resolver and labels, never a value of the subject. */
import type { AuditType, NewAuditEvent, Scalar } from "../../audit/event.ts";
import type { KeyedAuditEvent } from "../../audit/sink.ts";
import { STILL_PRESENT, type Decision, type Outcome } from "../../core/outbox/decide.ts";
import type { OutboxEntry, OutboxOperation } from "../../core/outbox/entry.ts";

type StepTypes = Readonly<Record<"succeeded" | "failed", AuditType>>;

const STEP = {
  erase: { succeeded: "ERASURE_STEP_SUCCEEDED", failed: "ERASURE_STEP_FAILED" },
  rectify: { succeeded: "RECTIFICATION_STEP_SUCCEEDED", failed: "RECTIFICATION_STEP_FAILED" },
} as const satisfies Record<OutboxOperation, StepTypes>;

export function eventsOf(entry: OutboxEntry, outcome: Outcome, decision: Decision): readonly NewAuditEvent[] {
  const { subjectId, operation, attempts } = entry;
  const say = (type: AuditType, facts: Readonly<Record<string, Scalar>>): NewAuditEvent => ({
    type,
    subjectId,
    payload: { entry_id: entry.entryId, resolver: entry.resolver, attempts, ...facts },
  });
  const unverified = (error: string): NewAuditEvent => say("ERASURE_EXTERNAL_VERIFICATION_FAILED", { error });
  switch (decision.event) {
    case "succeed":
      if (decision.unverified !== undefined) return [unverified(decision.unverified)];
      if (entry.verification !== undefined) return [say("ERASURE_EXTERNAL_VERIFIED", {})];
      return [say(STEP[operation].succeeded, success(entry, outcome))];
    case "verify":
      return [say(STEP[operation].succeeded, success(entry, outcome))];
    case "fail":
      return outcome.kind === "present" ? [unverified(STILL_PRESENT)] : [];
    case "park":
      return [say("ERASURE_EXPIRY_SCHEDULED", horizon(entry, decision.notBeforeMs))];
    case "abandon":
  }
  const failed = say(STEP[operation].failed, { error: decision.error, abandoned: true });
  return outcome.kind === "present" ? [unverified(STILL_PRESENT), failed] : [failed];
}

function success({ operation, horizons }: OutboxEntry, outcome: Outcome): Record<string, Scalar> {
  const already = outcome.kind === "done" && outcome.already;
  if (operation === "rectify") return { already_consistent: already };
  return { already_absent: already, ...(horizons > 0 && { verified_expiry: true }) };
}

function horizon({ horizons, lastError }: OutboxEntry, atMs: number): Record<string, Scalar> {
  return { expires_at: new Date(atMs).toISOString(), horizon: horizons + 1, prior_error: lastError ?? null };
}

/** The same event after a crash has the same dedupe key; a requeue or a new horizon makes a different event. */
export function keyed(entry: OutboxEntry, event: NewAuditEvent): KeyedAuditEvent {
  const { entryId, requeues, horizons, attempts } = entry;
  const round = event.type === "ERASURE_EXTERNAL_VERIFICATION_FAILED" ? `.${attempts}` : "";
  return { ...event, dedupeKey: `${entryId}:${event.type}:${requeues}.${horizons}${round}` };
}
