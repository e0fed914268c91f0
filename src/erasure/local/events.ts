/** The audit events of a request: numbers, names of tables, columns and resolvers, instants. Never a value. */
import type { NewAuditEvent, Scalar } from "../../audit/event.ts";
import type { Erased, RowCounts } from "./carry-out.ts";

type Payload = Readonly<Record<string, Scalar>>;

export type RequestKind = "ERASURE" | "RECTIFICATION";

export function event(
  kind: RequestKind,
  what: "REQUESTED" | "FAILED" | "LOCAL_COMPLETED" | "STEP_SKIPPED",
  subjectId: string,
  payload: Payload,
): NewAuditEvent {
  return { type: `${kind}_${what}`, subjectId, payload };
}

export function skippedSteps(
  kind: RequestKind,
  subjectId: string,
  skipped: readonly (readonly [resolver: string, reason: string])[],
): readonly NewAuditEvent[] {
  return skipped.map(([resolver, reason]) => event(kind, "STEP_SKIPPED", subjectId, { resolver, reason }));
}

/** `deleted.messages: 3`, `retained.orders.vat_id: 2`, `retained.orders.vat_id.until: "2036-01-01T00:00:00.000Z"`. */
export function erasedPayload({ deleted, anonymized, retained }: Erased): Payload {
  const kept = retained.flatMap(({ table, column, rows, until, legalBasis }) => {
    const name = `retained.${table}.${column}`;
    return [
      [name, rows],
      [`${name}.until`, until?.toISOString() ?? null],
      [`${name}.legal_basis`, legalBasis],
    ] as const;
  });
  return {
    ...prefixed("deleted", deleted),
    ...prefixed("anonymized", anonymized),
    ...(Object.fromEntries(kept) as Payload),
  };
}

export function prefixed(prefix: string, counts: RowCounts): Payload {
  return Object.fromEntries(
    Object.entries(counts).map(([table, rows]) => [`${prefix}.${table}`, rows] as const),
  );
}
