/** A saga as a line of a list. */
import { claimCount } from "../../core/claim-token.ts";
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { decodePlan, type Plan } from "../../core/saga/plan.ts";
import type { Attributes } from "../../core/start/attributes.ts";
import { bigint, float, instant, int, json, optional, text } from "../../storage/column.ts";
import type { Row } from "../../storage/database.ts";
import { projection, table, type Table } from "../../storage/table.ts";
import { isScheduled } from "../view/view.ts";

export interface SagaSummary {
  readonly id: string;
  readonly name: string;
  /** The version of its definition; undefined in the archive. */
  readonly version: number | undefined;
  /** 0 in the archive. */
  readonly priority: number;
  /** The label of why it failed, stalled or keeps failing, and the step; undefined if nothing is wrong, and in the archive. */
  readonly error: { readonly label: string; readonly step: string | undefined } | undefined;
  readonly status: SagaStatus;
  /** Empty where it cannot be read. */
  readonly plan: Plan;
  readonly createdAtMs: number;
  /** As the database has it, with its fraction: lists are ordered by it. */
  readonly updatedAtMs: number;
  /** The later instant that its start named; undefined if it was due at once, and in the archive. */
  readonly runAtMs: number | undefined;
  /** When it is due next, or its lease ends; undefined if it has ended or is stalled, and in the archive. */
  readonly dueAtMs: number | undefined;
  /** It is only recorded, and due later. */
  readonly isScheduled: boolean;
  /** A person has paused it; a pause of its name does not show here. False in the archive. */
  readonly isPaused: boolean;
  /** The id of the saga that it takes back; undefined if it is not a reversal, and in the archive. */
  readonly reverses: string | undefined;
  /** The id of the saga that takes it back; undefined if none does, and in the archive. */
  readonly reversedBy: string | undefined;
  /** Empty in the archive, of which lists read no records. */
  readonly attributes: Attributes;
  /** Undefined while the saga is where it ran. */
  readonly archivedAtMs: number | undefined;
  /** How often it was claimed; undefined in the archive. */
  readonly claims: number | undefined;
}

interface SharedRow extends Omit<
  SagaSummary,
  | "plan"
  | "version"
  | "priority"
  | "error"
  | "runAtMs"
  | "dueAtMs"
  | "isScheduled"
  | "isPaused"
  | "reverses"
  | "reversedBy"
  | "attributes"
  | "archivedAtMs"
  | "claims"
> {
  readonly plan: string;
}

interface LineRow extends SharedRow {
  readonly token: number;
  readonly version: number;
  readonly priority: number;
  readonly error: Failed | undefined;
  readonly errorLabel: string | undefined;
  readonly attributes: Attributes | undefined;
  readonly reverses: string | undefined;
  readonly runAtMs: number | undefined;
  readonly dueAtMs: number | undefined;
  readonly pausedAtMs: number | undefined;
}

/** As `failureText` writes it. */
interface Failed {
  readonly step?: string;
  readonly stall?: { readonly step?: string };
}

interface ArchivedRow extends SharedRow {
  readonly archivedAtMs: number;
}

const SHARED = {
  id: text("id"),
  name: text("name"),
  status: text<SagaStatus>("status"),
  plan: text("plan"),
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
};

export const LINE: Table<LineRow> = table("saga_executions", {
  ...SHARED,
  token: bigint("token"),
  version: int("definition"),
  priority: int("priority"),
  error: optional(json<Failed>("error")),
  errorLabel: optional(text("error_label")),
  attributes: optional(json<Attributes>("attributes")),
  reverses: optional(text("reverses")),
  runAtMs: optional(instant("run_at")),
  dueAtMs: optional(instant("next_attempt_at")),
  pausedAtMs: optional(instant("paused_at")),
});
export const ARCHIVED: Table<ArchivedRow> = table("saga_archive", {
  ...SHARED,
  archivedAtMs: instant("archived_at"),
});
const LISTED = projection({
  ...SHARED,
  token: optional(bigint("token")),
  version: optional(int("definition")),
  priority: optional(int("priority")),
  error: LINE.shape.error,
  errorLabel: LINE.shape.errorLabel,
  attributes: LINE.shape.attributes,
  reverses: LINE.shape.reverses,
  reversedBy: optional(text("reversed_by")),
  runAtMs: LINE.shape.runAtMs,
  dueAtMs: LINE.shape.dueAtMs,
  pausedAtMs: LINE.shape.pausedAtMs,
  nowMs: optional(float("now_at")),
  archivedAtMs: optional(instant("archived_at")),
});

export function toSummary(row: Row): SagaSummary {
  const {
    plan,
    token,
    nowMs = 0,
    attributes = {},
    priority = 0,
    error,
    errorLabel,
    pausedAtMs,
    ...saga
  } = LISTED.read(row);
  const { status, dueAtMs } = saga;
  return {
    ...saga,
    plan: planOf(plan),
    claims: token === undefined ? undefined : claimCount(token),
    attributes,
    priority,
    error:
      errorLabel === undefined ? undefined : { label: errorLabel, step: error?.stall?.step ?? error?.step },
    isScheduled: isScheduled(status, { dueAtMs, nowMs }),
    isPaused: pausedAtMs !== undefined && !sagaMachine.isTerminal(status),
  };
}

/** A plan that was changed by hand must not stop the list. */
function planOf(plan: string): Plan {
  try {
    return decodePlan(plan);
  } catch {
    return [];
  }
}
