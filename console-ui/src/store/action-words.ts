/** An operator action in a few words: `Retry saga o-1`. */
import type { ActionLine } from "../../../src/console/contract.ts";

export function actionWords({ action, target }: Pick<ActionLine, "action" | "target">): string {
  const word = `${action.charAt(0).toUpperCase()}${action.slice(1)}`;
  // The id of a session means nothing to an operator.
  return target.kind === "session" ? word : `${word} ${target.kind} ${target.id}`;
}
