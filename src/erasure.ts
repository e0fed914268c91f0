/** Erasure and rectification: what an application holds of a person, declared once, and taken away or corrected everywhere. */
export { Erasure, type ErasureOptions, type SubjectVerification } from "./erasure/erasure.ts";
export {
  dataMap,
  dataMapFromJson,
  type DataMap,
  type DataMapJson,
  type ErasedColumn,
  type PersonalColumn,
  type RetainedColumn,
  type RetentionPolicy,
  type Strategy,
  type SurrogateValue,
  type TableDeclaration,
  type ViaDeclaration,
} from "./core/erasure/data-map.ts";
export { type Period } from "./core/erasure/period.ts";
export { type EnqueuedCall, type ErasureReport } from "./erasure/erase.ts";
export { type LeftData, type RetainedData, type RowCounts } from "./erasure/local-phase.ts";
export {
  type BlockingEntry,
  type OverdueErasure,
  type OverdueOptions,
  type OverduePage,
} from "./erasure/overdue.ts";
export { type RectificationReport, type RectifyOptions } from "./erasure/rectify.ts";
export { type ErasurePlan } from "./core/erasure/plan.ts";
export { type Correction, type CorrectedValue, type SubjectRef } from "./core/outbox/entry.ts";
