/** What a person did, as it is kept: who, what, to what, why, and what became of it. */
export const ACTION_OUTCOMES = ["asked", "done", "refused"] as const;
export type ActionOutcome = (typeof ACTION_OUTCOMES)[number];

export interface NewAction {
  readonly by: string;
  readonly action: string;
  readonly target: { readonly kind: string; readonly id: string };
  readonly reason: string;
}

export interface RecordedAction extends NewAction {
  readonly id: string;
  readonly at: Date;
  /** `asked` where nobody knows the end: the process went away in between. */
  readonly outcome: ActionOutcome;
  /** Why it was refused. */
  readonly code: string | undefined;
}
