/** Sagas in detail: diagrams, and the types that few programs name. `saga` itself is exported by `amends`. */
export {
  type EmittedEvent,
  type FailureOf,
  type ForwardOptions,
  type ForwardSaga,
  type NoResults,
  type ValueOf,
  type With,
  type WithFallback,
} from "./sagas/define/definition.ts";
export { type TransactionKind } from "./sagas/define/transaction-kind.ts";
export { type ReferenceTo, type SagaRefOptions } from "./sagas/define/reference.ts";
export {
  type ForwardGroup,
  type ForwardMemberOptions,
  type MemberOptions,
  type ParallelOptions,
  type StepGroup,
  type Together,
} from "./sagas/define/parallel-options.ts";
export {
  type BreakerOptions,
  type FailureFilter,
  type FallbackTerms,
} from "./sagas/define/fallback-options.ts";
export { type AnySignal } from "./sagas/define/signal.ts";
export {
  type AwaitedEvent,
  type EventWait,
  type MatchField,
  type OnTimeout,
  type SignalWait,
  type Waited,
} from "./sagas/define/wait-options.ts";
export { type SagaAction, type SagaNote, type SkipNote } from "./sagas/view/operators.ts";
export { type UndoFailure } from "./sagas/view/outcome.ts";
export { type RunningCall, type TimelineEntry, type Waiting } from "./sagas/view/view.ts";
export { runDiagram } from "./sagas/view/run-diagram.ts";
export { sagaDiagram } from "./sagas/view/definition-diagram.ts";
export { type Counters } from "./sagas/engine/engine.ts";
export { type Plan, type PlannedStep } from "./core/saga/plan.ts";
export { type Group as PlannedGroup } from "./core/saga/group.ts";
export { type Wait as PlannedWait } from "./core/saga/wait.ts";
export { type Stored } from "./core/json.ts";
