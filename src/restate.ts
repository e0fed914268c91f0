/**
 * Sagas in Restate instead of a database, experimental. It needs `@restatedev/restate-sdk` beside it, and Node.js 22 or newer where
 * sagas run.
 */
export { sagaWorkflows, type SagaWorkflowOptions } from "./restate/workflow.ts";
export { type RestateSdk } from "./restate/sdk.ts";
export {
  RestateSagas,
  type ListedSaga,
  type RestateSelection,
  type RestateStart,
} from "./restate/client/sagas.ts";
export { type RestateSaga, type RestateWait } from "./restate/client/handle.ts";
export { type RestateAddress } from "./restate/client/ingress.ts";
export { type StartMessage } from "./restate/client/start-call.ts";
