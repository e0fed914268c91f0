/** `amends.attention`. */
import type { Reader } from "../storage/read/reader.ts";
import { countAttention, type AttentionCounts } from "./count.ts";
import { listAttention, type AttentionOptions, type AttentionPage } from "./list.ts";

/** What needs an operator now, in every part: `amends.attention`. */
export interface Attention {
  /** Lists the items, oldest first, page by page. */
  list(options?: AttentionOptions): Promise<AttentionPage>;
  /** Counts the items of each kind. */
  count(): Promise<AttentionCounts>;
}

/** `reader` throws if there is no database. */
export function attentionOf(reader: () => Reader): Attention {
  return {
    list: async (options) => listAttention(reader(), options),
    count: async () => countAttention(reader()),
  };
}
