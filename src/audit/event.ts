/** The audit events of a subject's requests: facts without personal data, append-only. */
import { AmendsError } from "../core/errors.ts";
import { checkId } from "../core/identity.ts";
import { encodeJson } from "../core/json.ts";

export const AUDIT_TYPES = [
  "ERASURE_REQUESTED",
  "ERASURE_LOCAL_COMPLETED",
  "ERASURE_FAILED",
  "ERASURE_STEP_SUCCEEDED",
  "ERASURE_STEP_FAILED",
  "ERASURE_STEP_SKIPPED",
  "ERASURE_STEP_RESOLVED",
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
  "RECTIFICATION_STEP_RESOLVED",
  "RECTIFICATION_COMPLETED",
] as const;

/** The type of an audit event, such as `ERASURE_REQUESTED` or `RECTIFICATION_COMPLETED`. */
export type AuditType = (typeof AUDIT_TYPES)[number];

/** A value in the payload of an audit event. */
export type Scalar = string | number | boolean | null;

/** One fact about a subject's request, as the audit trail holds it. Events are only ever added. */
export interface AuditEvent {
  /** The id of the event, a UUID. */
  readonly id: string;
  /** What happened. */
  readonly type: AuditType;
  /** The id of the data subject whom the event concerns. */
  readonly subjectId: string;
  /** When the event was written, by the database's clock. */
  readonly at: Date;
  /** Facts about the event, such as ids, counts and error labels: scalars only, never personal data. */
  readonly payload: Readonly<Record<string, Scalar>>;
}

/** An audit event before it is written. The sink assigns its id and its time. */
export type NewAuditEvent = Pick<AuditEvent, "type" | "subjectId" | "payload">;

export const SUBJECT_MAX = 255;

/** The payload as it is stored. Throws if the payload is not an object of scalars; nothing is written then. */
export function checkEvent({ type, subjectId, payload }: NewAuditEvent): string {
  if (!AUDIT_TYPES.includes(type)) {
    throw new AmendsError(
      "BAD_INPUT",
      `There is no audit event of this type. There are: ${AUDIT_TYPES.join(", ")}.`,
    );
  }
  checkId(subjectId, "The subject id of an audit event", SUBJECT_MAX);
  const field = `The payload of ${type}`;
  const isRecord = typeof payload === "object" && payload !== null && !Array.isArray(payload);
  const nested = isRecord && Object.entries(payload).find(([, value]) => !isScalar(value));
  if (!isRecord || nested) {
    const what = nested ? `${nested[0]} is not one` : "it is not an object";
    throw new AmendsError("BAD_INPUT", `${field} must be an object of scalars: ${what}.`, { field });
  }
  return encodeJson(payload, { field, code: "BAD_INPUT" }) ?? "{}";
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}
