/** Kinds of open sagas that no worker can run: which they are, and how they differ from what workers have. */
import { decodePlan, misfit } from "../../core/saga/plan.ts";
import { sourceOf, type Source } from "../../storage/read/selection.ts";
import { UNSERVED, unservedRows, type UnservedRow } from "./queries.ts";

export interface UnservedKind {
  /** The name, the version and the digest of the steps. */
  readonly kind: string;
  readonly name: string;
  readonly version: number;
  /** The number of open sagas, at most 1,000. */
  readonly sagas: number;
  readonly reason: string;
}

export const unservedKinds: Source<UnservedKind> = sourceOf(unservedRows, (row) => {
  const found = UNSERVED.read(row);
  const { lane: kind, name, version, sagas } = found;
  return { kind, name, version, sagas, reason: reasonOf(found) };
});

function reasonOf({ name, version, sagas, plan, knownPlan }: UnservedRow): string {
  const waiting = sagas === 1 ? "1 saga waits" : `${sagas} sagas wait`;
  if (knownPlan === undefined)
    return `${waiting}: no running worker has saga ${name} (version ${version}). Run a worker that has it.`;
  return `${waiting}: they began with other steps than the running workers have: ${differenceOf(plan, knownPlan)}. Run a worker whose definition fits, or give one of the two another version.`;
}

function differenceOf(plan: string, knownPlan: string): string {
  try {
    return misfit(decodePlan(plan), decodePlan(knownPlan)) ?? "none that keeps them from running";
  } catch {
    return "they cannot be read";
  }
}
