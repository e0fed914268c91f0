/** Whether the data map reaches every row that belongs to a subject, as far as foreign keys tell. */
import type { ErasurePlan } from "../../core/erasure/plan.ts";
import { ok, warn, type Finding } from "./finding.ts";

export function dataMapOf({ unfollowed }: Pick<ErasurePlan, "unfollowed">): Finding {
  if (unfollowed.length === 0) return ok("data map", "it fits the tables");
  const keys = unfollowed.map(({ table, columns, to }) => `${table}.${columns.join(", ")} → ${to}`);
  return warn(
    "data map",
    `it fits the tables, but no path follows ${keys.join("; ")}`,
    "Rows that reach a subject only that way keep their data: map the table, or erase them yourself in the same transaction (docs/guides/erasure.md).",
  );
}
