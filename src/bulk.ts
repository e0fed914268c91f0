/** Bulk actions: one action of an operator on many items. `amends.bulk` previews, starts, shows and stops them. */
export { Bulk, type BulkListOptions, type BulkPreview, type RepeatOptions } from "./bulk/bulk.ts";
export {
  type BulkCancel,
  type BulkItems,
  type BulkRequest,
  type BulkRequeue,
  type BulkResend,
  type BulkResolve,
  type BulkRetry,
  type BulkSagas,
  type BulkSkip,
} from "./bulk/request.ts";
export { type BulkFilter, type BulkStop, type BulkView } from "./bulk/view.ts";
export { type BulkAction, type BulkKind, type BulkRefusal } from "./core/bulk/action.ts";
export { type BulkState } from "./core/bulk/machine.ts";
