/**
 * A choice is a step that asks the application one question and records the answer. The steps of its branches follow it in the
 * plan, and each says to which branch it belongs. Only the steps of the branch that was chosen are run, and only they are undone.
 */

/** The branch to which a planned step belongs. */
export interface Branch {
  /** The step that chooses. */
  readonly choice: string;
  /** The answer with which the step runs. */
  readonly when: boolean;
}

/** What stands behind the name of a step that chooses: no signal has such a name. */
export const CHOICE = ":^";

/** `@large+` at the end of a step that runs if the answer of step `large` is yes, `@large-` if it is no. */
export function branchText({ choice, when }: Branch): string {
  return `@${choice}${when ? "+" : "-"}`;
}

/** `text` is what follows the `@`. Undefined if this is no such text. */
export function readBranch(text: string): Branch | undefined {
  const match = /^([^@+]+)([+-])$/.exec(text);
  return match ? { choice: match[1] as string, when: match[2] === "+" } : undefined;
}

/** How the branch of a step differs from the recorded one, in words. */
export function branchChange(recorded: Branch | undefined, now: Branch | undefined): string | undefined {
  if (recorded?.choice === now?.choice && recorded?.when === now?.when) return undefined;
  if (!recorded) return `moved into ${branchPhrase(now as Branch)}`;
  return now
    ? `moved from ${branchPhrase(recorded)} to ${branchPhrase(now)}`
    : `moved out of ${branchPhrase(recorded)}`;
}

function branchPhrase({ choice, when }: Branch): string {
  return when ? `the branch of ${choice}` : `the other branch of ${choice}`;
}
