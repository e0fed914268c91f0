/** What needs a person: the items that `amends.attention` lists and counts. */
export {
  ATTENTION_KINDS,
  type AbandonedCallItem,
  type AbandonedEntryItem,
  type AbandonedEventItem,
  type AttentionAction,
  type AttentionFacts,
  type AttentionItem,
  type AttentionKind,
  type DeadLetterItem,
  type DisabledSubscriptionItem,
  type ExcludedSagaItem,
  type FailingSagaItem,
  type LostSagaItem,
  type OverdueErasureItem,
  type OverdueScheduleItem,
  type RefusedWriteItem,
  type StalledRunItem,
  type StalledSagaItem,
  type UnservedHandlerItem,
  type UnservedKindItem,
} from "./attention/item.ts";
export { type SubscriptionBrief } from "./webhooks/read/subscription-brief.ts";
export { type Attention } from "./attention/part.ts";
export { type AttentionCounts } from "./attention/count.ts";
export { type AttentionOptions, type AttentionPage } from "./attention/list.ts";
export { type Count } from "./core/count.ts";
export { type Page } from "./core/cursor.ts";
