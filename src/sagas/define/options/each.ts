/** What may be said of a step that acts once for each item of a list, as the compiler sees it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Stored } from "../../../core/json.ts";
import type { RetryOptions } from "../../../core/backoff.ts";
import type { Duration } from "../../../core/duration.ts";
import type { ValueOf } from "../results.ts";
import type { JsonProgress, ProgressOption } from "./progress.ts";
import type { ActContext, ForwardOnly, UndoContext } from "./step.ts";

/** What the list of a step is computed from. */
export interface ListContext<Input, Results> {
  /** The id of the saga. */
  readonly sagaId: string;
  /** The input of the saga, as its schema returned it and JSON stored it. */
  readonly input: Input;
  /** The results of the steps before, by step name. */
  readonly results: Results;
}

interface ForItem<Item> {
  /** The item, as it was recorded. */
  readonly item: Item;
  /** What `key` returned for the item. */
  readonly itemKey: string;
}

/** What the act of one item receives. */
export interface ItemContext<Input, Results, Item, Progress extends StandardSchemaV1 = JsonProgress>
  extends ActContext<Input, Results, undefined, Progress>, ForItem<Item> {}

/** What the compensation of one item receives. */
export interface ItemUndoContext<
  Input,
  Results,
  Item,
  Value,
  Progress extends StandardSchemaV1 = JsonProgress,
>
  extends UndoContext<Input, Results, Value, undefined, Progress>, ForItem<Item> {}

/** The parts of a step for each item that stand before and after the pivot. */
export interface Listing<
  Input,
  Results,
  Item,
  Value,
  Progress extends StandardSchemaV1 = JsonProgress,
> extends ProgressOption<Progress> {
  /**
   * Returns the list, at most 10,000 items that JSON can hold. It is called once; the list is recorded before the first item begins,
   * and never computed again.
   */
  over(context: ListContext<Input, Results>): readonly Item[] | Promise<readonly Item[]>;
  /** Returns the key of an item: a text of 1 to 255 characters that no other item of the list has. The idempotency key contains it. */
  key(item: Stored<Item>): string;
  /** Does the work for one item, as the act of a step does. */
  act(context: ItemContext<Input, Results, Stored<Item>, Progress>): Value;
  /** The most items that act at once. Default: 10. */
  readonly concurrency?: number;
  /** The number of attempts of an act that throws, and the waits between them, for each item. Default: `retry` of the saga. */
  readonly retry?: RetryOptions;
  /** The timeout of one attempt: then its signal aborts, and the attempt counts as failed. Default: none. */
  readonly timeout?: Duration;
}

/** The options of `each` before the pivot. */
export interface EachOptions<
  Input,
  Results,
  Item,
  Value,
  Progress extends StandardSchemaV1 = JsonProgress,
> extends Listing<Input, Results, Item, Value, Progress> {
  /** Undoes what the act did, or may have done, for one item. It may be called again, always with the same key. */
  compensate?(
    context: ItemUndoContext<Input, Partial<Results>, Stored<Item>, ValueOf<Value>, Progress>,
  ): unknown;
  /** The number of attempts of a compensation that throws, and the waits between them. Default: `compensateRetry` of the saga. */
  readonly compensateRetry?: RetryOptions;
  /** Also compensates an item whose act returned `err`. Default: false. */
  readonly undoOnErr?: boolean;
}

/** The options of `each` after the pivot. */
export interface ForwardEachOptions<
  Input,
  Results,
  Item,
  Value,
  Progress extends StandardSchemaV1 = JsonProgress,
>
  extends Listing<Input, Results, Item, Value, Progress>, Pick<ForwardOnly, "compensate"> {}

/** What one item is worth to later steps. The list of them is the result of the step, in the order of the items. */
export interface ItemResult<Item, Value> {
  /** The key of the item. */
  readonly key: string;
  /** The item. */
  readonly item: Item;
  /** What its act returned. */
  readonly result: Value;
}
