/** Sagas in detail: diagrams, and the types that few programs name. `saga` itself is exported by `amends`. */
export {
  type Added,
  type Branch,
  type Built,
  type EndMethods,
  type ForwardSaga,
  type Side,
  type StepMethods,
} from "./sagas/define/builder.ts";
export { type FailureOf, type NoResults, type ValueOf, type With } from "./sagas/define/results.ts";
export { type EmittedEvent, type ForwardOptions, type WithFallback } from "./sagas/define/options/step.ts";
export {
  type EachOptions,
  type ForwardEachOptions,
  type ItemContext,
  type ItemResult,
  type ItemUndoContext,
  type ListContext,
} from "./sagas/define/options/each.ts";
export { type ChoiceContext, type Chosen, type Otherwise } from "./sagas/define/options/choice.ts";
export {
  type OnMax,
  type Repeated,
  type RepeatedUntil,
  type RepeatUndoContext,
  type RoundContext,
  type UntilContext,
} from "./sagas/define/options/repeat.ts";
export {
  type CompletedContext,
  type EndCall,
  type EndInTransaction,
  type FailedContext,
  type ReversedContext,
  type InTransaction,
  type StalledCall,
  type StalledContext,
} from "./sagas/define/options/end.ts";
export { type ChildOptions, type ChildResult } from "./sagas/define/options/child.ts";
export { type TransactionKind } from "./sagas/define/transaction-kind.ts";
export { type ReferenceTo, type SagaRefOptions } from "./sagas/define/reference.ts";
export {
  type ForwardGroup,
  type ForwardMemberOptions,
  type MemberOptions,
  type ParallelOptions,
  type StepGroup,
  type Together,
} from "./sagas/define/options/parallel.ts";
export {
  type BreakerOptions,
  type FailureFilter,
  type FallbackTerms,
} from "./sagas/define/options/fallback.ts";
export { type AnySignal } from "./sagas/define/signal.ts";
export {
  type AnyWait,
  type AwaitedEvent,
  type EventMatch,
  type EventWait,
  type FirstOf,
  type MatchField,
  type OnTimeout,
  type SignalWait,
  type WaitAlternative,
  type Waited,
} from "./sagas/define/options/wait.ts";
export { type CancelNote, type SagaAction, type SagaNote, type SkipNote } from "./sagas/view/operators.ts";
export {
  type SagaItem,
  type SagaKind,
  type SagaList,
  type SagaListOptions,
  type SagaQuery,
} from "./sagas/view/list.ts";
export { type Count } from "./core/count.ts";
export { type UndoFailure } from "./sagas/view/outcome.ts";
export { type HeldBy } from "./core/start/held.ts";
export { type Paused, type PausedList, type PausedOptions } from "./operate/pauses/pauses.ts";
export { type PauseTarget } from "./operate/pauses/target.ts";
export {
  type RelatedSaga,
  type RunningCall,
  type SagaPause,
  type TimelineEntry,
  type Waiting,
} from "./sagas/view/view.ts";
export { type CallProgress } from "./sagas/view/progress.ts";
export {
  type JsonProgress,
  type LastProgress,
  type NoProgress,
  type Progressing,
  type ProgressOption,
  type ReportProgress,
} from "./sagas/define/options/progress.ts";
export { runDiagram } from "./sagas/view/run-diagram.ts";
export { sagaDiagram } from "./sagas/view/definition-diagram.ts";
export { type StartControls, type StartItem, type StartManyOptions } from "./operate/amends-options.ts";
export { type ConcurrencyLimit, type LimitOptions, type RateLimit } from "./core/start/limits.ts";
export { type Attributes, type AttributeValue } from "./core/start/attributes.ts";
export { type EndListener, type SagaEnd } from "./sagas/engine/ends.ts";
export { type Counters } from "./sagas/engine/engine.ts";
export { type Plan, type PlannedStep } from "./core/saga/plan.ts";
export { type Branch as PlannedBranch } from "./core/saga/steps/branch.ts";
export { type Each as PlannedEach } from "./core/saga/steps/each.ts";
export { type Group as PlannedGroup } from "./core/saga/steps/group.ts";
export { type Repeat as PlannedRepeat } from "./core/saga/steps/repeat.ts";
export { type Alternative as PlannedAlternative, type Wait as PlannedWait } from "./core/saga/steps/wait.ts";
export { type Json, type Stored } from "./core/json.ts";
