/** A page of a list as the contract has it. */
import type { Page } from "../../core/cursor.ts";
import type { Page as PageAnswer } from "../contract.ts";
import { text, type Param } from "./param.ts";

export function toPage<Item, Line>(
  { items, next }: Page<Item>,
  toLine: (item: Item) => Line,
): PageAnswer<Line> {
  return { items: items.map(toLine), next: next ?? null };
}

/** Where the page begins. The list that wrote the text checks it. */
export function after(): Param<string | undefined> {
  const bounded = text(2_000);
  return { ...bounded, schema: { ...bounded.schema, description: "The `next` of the previous page." } };
}
