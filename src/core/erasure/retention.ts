/** A retention in a plan: its column, its anchor and its duration. The database decides whether it is over. */
import type { RetainedColumn } from "./data-map.ts";
import { span, type Span } from "./period.ts";
import type { ColumnType } from "./schema.ts";

/** How an anchor's value becomes an instant. */
export type AnchorForm =
  /** An instant with its zone. */
  | "instant"
  /** A date or a time without a zone: taken as UTC. */
  | "local"
  | "epoch-ms"
  | "epoch-s"
  /** SQLite: a text in ISO form, or a number. */
  | "loose-ms"
  | "loose-s";

export interface Retention {
  readonly column: string;
  readonly anchor: string;
  readonly form: AnchorForm;
  readonly span: Span;
  readonly reason: string;
  readonly legalBasis: string;
}

export function retentionOf(column: string, { policy }: RetainedColumn, form: AnchorForm): Retention {
  return {
    column,
    anchor: policy.anchor,
    form,
    span: span(policy.duration, `The retention of ${column}`),
    reason: policy.reason,
    legalBasis: policy.legalBasis,
  };
}

/** Undefined if the type holds no instants. */
export function anchorForm(
  type: ColumnType,
  dialect: "postgres" | "sqlite",
  unit: "ms" | "s" = "ms",
): AnchorForm | undefined {
  const { family, zoned } = type;
  if (dialect === "sqlite") {
    return ["date", "timestamp", "text", "integer", "decimal"].includes(family) ? `loose-${unit}` : undefined;
  }
  if (family === "timestamp" || family === "date") return zoned ? "instant" : "local";
  return family === "integer" ? `epoch-${unit}` : undefined;
}
