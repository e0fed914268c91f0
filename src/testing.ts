/** For tests: time that is moved by hand, and the suite that a storage of one's own must pass. */
export { virtualClock, type VirtualClock } from "./testing/virtual-clock.ts";
export {
  sagaStorageConformance,
  type ConformanceCase,
  type ConformanceOptions,
  type MakeStorage,
} from "./testing/storage-conformance.ts";
