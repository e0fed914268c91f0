/** The audit trail: sinks that events are written to, reading it page by page, and verifying that it is whole. */
export { type AuditEvent, type AuditType, type NewAuditEvent, type Scalar } from "./audit/event.ts";
export { type AnySink, type AuditSink, type KeyedAuditEvent, type TransactionalSink } from "./audit/sink.ts";
export { type ChainHead, type ChainOptions } from "./audit/chain.ts";
export { DatabaseAuditSink, type DatabaseAuditOptions } from "./audit/database-sink.ts";
export { AuditTrail, type TrailOptions, type TrailPage } from "./audit/trail.ts";
export {
  auditHead,
  verifyAuditChain,
  type BreakReason,
  type ChainReport,
  type VerifyOptions,
} from "./audit/verify.ts";
