/** An operator action as it is stored: operator, action, target, reason and result. */
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
  /** `asked` if the result is unknown because the process ended in between. */
  readonly outcome: ActionOutcome;
  /** Why it was refused. */
  readonly code: string | undefined;
}
