/**
 * The labels that Amends itself gives to failures of sagas. Every other label is that of the application's own error. They are stored,
 * counted and shown; docs/reference/errors.md has the same rows.
 */
export const FAILURE_LABELS = {
  // What the application's functions returned cannot be used. Nothing is tried again.
  ListNotArray: "`over` of a step for each item returned no array.",
  ListTooLong: "`over` returned more than 10,000 items.",
  ListTooLarge: "The items of a list are larger than 16 MiB together.",
  ItemNotJson: "An item of a list is not JSON, or is larger than 1 MiB.",
  BadItemKey: "`key` returned no text of 1 to 255 characters for an item.",
  DuplicateItemKey: "`key` returned the same text for two items of a list.",
  ResultNotJson: "The result of an act is not JSON, or is larger than 1 MiB.",
  ResultsTooLarge: "The results of all items of a list, or of a child saga, are larger than 16 MiB.",
  AnswerNotBoolean:
    "The question of a choice, or `until` of a step in rounds, was answered with neither true nor false.",
  UnreadableEvent:
    "The event that a step waited for does not fit its schema in the process that runs the saga.",
  // Time, and other limits.
  TimedOut: "A try took longer than its `timeout`. It is tried again.",
  DeadlinePassed: "The `deadline` of the step or of the saga has passed, or the `timeout` of a wait.",
  RoundsExhausted: 'A step in rounds with `onMax: "fail"` had its last round.',
  CircuitOpen: "The circuit breaker of the step was open, so that the step was not called.",
  DatabaseTrouble: "The transaction of a transactional step could not be committed. It is tried again.",
  // A person, another saga, or the worker.
  Cancelled: "The saga was cancelled.",
  ResolvedByHand: "An operator ended the saga as FAILED, and nothing else had failed.",
  ChildFailed: "A child saga failed, and its failure has no label.",
  ChildNotFound: "A child saga was removed from the database before its parent learned of its end.",
  DefinitionMisfit: "The saga is stalled: its definition no longer fits the steps that it began with.",
  RecoveriesExhausted:
    "The saga is stalled: it lost its worker more often than `recoveries` allows, without progress.",
} as const;

/** A label that Amends itself gives to a failure. */
export type FailureLabel = keyof typeof FAILURE_LABELS;
