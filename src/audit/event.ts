/** What is on record about a subject's requests: facts without personal data, only ever added to. */
export const AUDIT_TYPES = [
  "ERASURE_REQUESTED",
  "ERASURE_LOCAL_COMPLETED",
  "ERASURE_FAILED",
  "ERASURE_STEP_SUCCEEDED",
  "ERASURE_STEP_FAILED",
  "ERASURE_STEP_SKIPPED",
  "ERASURE_STEP_SUPERSEDED",
  "ERASURE_EXPIRY_SCHEDULED",
  "ERASURE_EXTERNAL_VERIFIED",
  "ERASURE_EXTERNAL_VERIFICATION_FAILED",
  "ERASURE_REQUEUED",
  "ERASURE_COMPLETED",
  "RECTIFICATION_REQUESTED",
  "RECTIFICATION_LOCAL_COMPLETED",
  "RECTIFICATION_FAILED",
  "RECTIFICATION_STEP_SUCCEEDED",
  "RECTIFICATION_STEP_FAILED",
  "RECTIFICATION_STEP_SKIPPED",
  "RECTIFICATION_STEP_SUPERSEDED",
  "RECTIFICATION_COMPLETED",
] as const;

export type AuditType = (typeof AUDIT_TYPES)[number];

export type Scalar = string | number | boolean | null;

export interface AuditEvent {
  readonly id: string;
  readonly type: AuditType;
  readonly subjectId: string;
  readonly at: Date;
  /** Scalars only, never personal data. */
  readonly payload: Readonly<Record<string, Scalar>>;
}

/** As it is handed in: the sink gives it its id and its time. */
export type NewAuditEvent = Pick<AuditEvent, "type" | "subjectId" | "payload">;
