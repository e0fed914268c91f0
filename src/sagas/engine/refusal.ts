/** Why a claimed saga cannot go on: its definition changed under it, or it has lost too many workers. */
import type { ControlDetails } from "../../core/saga/entry.ts";
import { misfit } from "../../core/saga/plan.ts";
import type { AnySaga } from "../define/definition.ts";
import type { SagaRecord } from "../journal/journal.ts";

/** The details of the `$stall` line; undefined where the saga may go on. */
export function refusalOf(
  { plan, recoveryAttempts }: SagaRecord,
  definition: AnySaga,
): ControlDetails | undefined {
  const difference = misfit(plan, definition.plan);
  if (difference !== undefined) return { kind: "misfit", label: "DefinitionMisfit", reason: difference };
  if (recoveryAttempts <= definition.settings.recoveryMax) return undefined;
  const reason = `its worker was lost ${recoveryAttempts} times`;
  return { kind: "recoveries", label: "RecoveriesExhausted", reason };
}
