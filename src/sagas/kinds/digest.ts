/**
 * The digest of a plan: sagas with the same list of steps have the same digest. It is part of a saga's kind, so that a claim names
 * the plans that its definitions fit, and a worker leaves alone what another definition began.
 */
import { createHash } from "node:crypto";
import { encodePlan, type Plan } from "../../core/saga/plan.ts";
import type { Kind } from "../journal/journal.ts";

/** Of a saga whose plan is not recorded yet: every worker with its version may claim it. */
export const NO_DIGEST = "";

const LENGTH = 16;
const digests = new WeakMap<Plan, string>();

export function digestOf(plan: Plan): string {
  if (plan.length === 0) return NO_DIGEST;
  let digest = digests.get(plan);
  if (digest === undefined) {
    digest = createHash("sha256").update(encodePlan(plan)).digest("hex").slice(0, LENGTH);
    digests.set(plan, digest);
  }
  return digest;
}

/** The kind of a saga, as its row has it: the column `kind`. */
export function kindText({ name, version }: Kind, digest: string): string {
  return `${name}@${version}#${digest}`;
}
