/** Typed event flow: events, handlers that answer with `ok` or `err`, and sagas over them. */
export {
  event,
  type AnyEvent,
  type DataOf,
  type DeliveredEvent,
  type DeliveredOf,
  type EventMeta,
  type EventOptions,
  type EventType,
  type EventValue,
  type NewEventOptions,
  type UpcastChain,
} from "./events/define/event.ts";
export {
  EventHandler,
  handler,
  type AnyHandler,
  type Answer,
  type EventHandlerOptions,
  type Handler,
  type HandlerContext,
  type HandlerOptions,
  type HandlerOutbox,
} from "./events/define/handler.ts";
export { consumer, type Consumer, type ConsumerOptions } from "./events/define/consumer.ts";
export { type Subscriber } from "./events/define/subscriber.ts";
export { type IdOf } from "./events/define/chain.ts";
export {
  all,
  oneOf,
  type AllOf,
  type AnyAnswer,
  type AnyOn,
  type OneOf,
  type SeveralEvents,
} from "./events/define/several.ts";
export { SagaStep, step, type SagaStepOptions } from "./events/define/saga-step.ts";
export {
  eventSaga,
  SagaDef,
  type AnySagaDef,
  type EventSagaOptions,
  type IdSerialisation,
} from "./events/define/saga-def.ts";
export {
  buildHandlerSagaMapping,
  SagaRegistry,
  type EventDefinition,
  type HandlerSagaMapping,
  type SagaPlace,
} from "./events/define/registry.ts";
export {
  SagaOrchestrator,
  type OrchestratorOutbox,
  type SagaOrchestratorOptions,
} from "./events/orchestrator.ts";
export { type SagaState, type SagaStore, type SagaStoreOptions } from "./events/store/saga-store.ts";
export { type EventsOptions } from "./events/set-up.ts";
export { SagaContractViolation } from "./events/define/violation.ts";
export { err, ok, type Err, type Ok, type Result } from "./core/result.ts";
export { type FlowFailure } from "./core/flow/state.ts";
export { type FlowStatus, type FlowStatus as SagaStatus } from "./core/flow/machine.ts";
export { type RetryPolicy } from "./core/backoff.ts";
export { SagaConcurrencyError } from "./core/errors.ts";
export { type PublishOptions } from "./runtime/part.ts";
export { EventFlow } from "./events/flow.ts";
export { type FlowNote, type FlowStepView, type FlowView, type RunEvent } from "./events/view.ts";
export { type EventSubscription, type RetiredHandler } from "./events/subscriptions/operators.ts";
export { FlowRun } from "./events/run-handle.ts";
export { flowDiagram, flowRunDiagram } from "./events/diagram.ts";
export { sagaHandler, type SagaHandlerOptions } from "./events/define/saga-handler.ts";
