/**
 * The kind of a saga: its name, its version and the digest of its list of steps. A claim names the kinds that its definitions
 * fit, so a worker leaves alone what another definition began.
 */
import { createHash } from "node:crypto";
import { encodePlan, type Plan } from "../../core/saga/plan.ts";

/** Of a saga whose plan is not recorded yet: every worker with its version may claim it. */
const NO_DIGEST = "";

const LENGTH = 16;

interface Known {
  readonly name: string;
  readonly version: number;
  readonly kind: string;
}

/** A plan nearly always belongs to one definition. */
const known = new WeakMap<Plan, Known>();

/** The kind as the saga's row has it: the column `kind`. */
export function kindOf(name: string, version: number, plan: Plan): string {
  const found = known.get(plan);
  if (found?.name === name && found.version === version) return found.kind;
  const kind = `${name}@${version}#${digestOf(plan)}`;
  known.set(plan, { name, version, kind });
  return kind;
}

function digestOf(plan: Plan): string {
  if (plan.length === 0) return NO_DIGEST;
  return createHash("sha256").update(encodePlan(plan)).digest("hex").slice(0, LENGTH);
}
