/** For tests: time that is moved by hand, systems that fail when they are told to, and the suites that parts of one's own must pass. */
export { virtualClock, type VirtualClock } from "./testing/kit/virtual-clock.ts";
export {
  testKit,
  TestKit,
  type FailOptions,
  type MakeAmends,
  type RunUntilIdleOptions,
  type TestKitOptions,
} from "./testing/kit/test-kit.ts";
export { type KitCall } from "./testing/kit/call-script.ts";
export { prove } from "./testing/prove/prove.ts";
export type {
  ByChildStep,
  EndedOutcome,
  Provable,
  ProveFailure,
  ProveOptions,
  ProveProblem,
  ProveProgress,
  ProveReport,
  ProveTell,
  ProvenSchedule,
} from "./testing/prove/script.ts";
export { type ConformanceCase } from "./testing/conformance/case.ts";
export {
  sagaStorageConformance,
  type ConformanceOptions,
  type MakeStorage,
} from "./testing/conformance/storages.ts";
export {
  resolverConformance,
  type MakeResolver,
  type ResolverConformanceOptions,
} from "./testing/conformance/resolvers.ts";
export { type ResolverFault, type ResolverTrial } from "./testing/conformance/resolver-trial.ts";
export {
  expiringMemoryResolver,
  memoryResolver,
  type ExpiringMemoryResolver,
  type ExpiringMemoryResolverOptions,
  type MemoryRecord,
  type MemoryResolver,
  type MemoryResolverOptions,
} from "./testing/kit/memory-resolver.ts";
export { type MemoryCall, type MemoryScript, type MemoryTrouble } from "./testing/kit/memory-script.ts";
