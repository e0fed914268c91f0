/**
 * The states of the items of one step. A list may have ten thousand of them, and each line of the log changes one: so a change
 * copies a page of states instead of the list, and what the interpreter asks for at every line is counted as it changes.
 */
import type { ListedItem } from "./each.ts";
import { FRESH, type StepState } from "./state.ts";

const PAGE = 128;

export interface Items {
  readonly list: readonly ListedItem[];
  readonly pages: readonly (readonly StepState[])[];
  /** How many acts have begun and how they ended is not known yet. */
  readonly begun: number;
  /** How many are done or skipped, and how many of the first ones are: the next act is searched behind those. */
  readonly closed: number;
  readonly closedFirst: number;
  /** How many have a call that has outlived its time and has not returned. */
  readonly running: number;
  /** How many keep failing where the saga can only go forward. */
  readonly failing: number;
  /** How long all results are together, as JSON. */
  readonly resultBytes: number;
}

export const NO_ITEMS: Items = {
  list: [],
  pages: [],
  begun: 0,
  closed: 0,
  closedFirst: 0,
  running: 0,
  failing: 0,
  resultBytes: 0,
};

/** The items with more of them, none of which has begun. */
export function withListed(items: Items, more: readonly ListedItem[]): Items {
  const list = [...items.list, ...more];
  const pages: (readonly StepState[])[] = [];
  for (let from = 0; from < list.length; from += PAGE)
    pages.push(Array.from({ length: Math.min(PAGE, list.length - from) }, () => FRESH));
  return { ...items, list, pages };
}

export function itemAt({ pages }: Items, number: number): StepState | undefined {
  return pages[Math.floor(number / PAGE)]?.[number % PAGE];
}

/** The same items with the state of one changed. */
export function withItem(items: Items, number: number, after: StepState): Items {
  const before = itemAt(items, number) as StepState;
  const pages = items.pages.slice();
  const page = (pages[Math.floor(number / PAGE)] as readonly StepState[]).slice();
  page[number % PAGE] = after;
  pages[Math.floor(number / PAGE)] = page;
  const changed: Items = {
    ...items,
    pages,
    begun: items.begun + Number(isBegun(after)) - Number(isBegun(before)),
    closed: items.closed + Number(isClosed(after)) - Number(isClosed(before)),
    running: items.running + Number(isRunning(after)) - Number(isRunning(before)),
    failing: items.failing + Number(isFailing(after)) - Number(isFailing(before)),
  };
  return number === items.closedFirst && isClosed(after)
    ? { ...changed, closedFirst: closedFrom(changed, number) }
    : changed;
}

function closedFrom(items: Items, from: number): number {
  let number = from;
  while (number < items.list.length && isClosed(itemAt(items, number) as StepState)) number++;
  return number;
}

/** The same items with all states changed. */
export function mapItems(items: Items, change: (state: StepState) => StepState): Items {
  let changed = items;
  for (let number = 0; number < items.list.length; number++) {
    const before = itemAt(items, number) as StepState;
    const after = change(before);
    if (after !== before) changed = withItem(changed, number, after);
  }
  return changed;
}

/** The numbers of items that meet a condition, in their order, from the first one that is not done. */
export function openItems(
  items: Items,
  isWanted: (state: StepState, number: number) => boolean,
  max: number,
): readonly number[] {
  const found: number[] = [];
  for (let number = items.closedFirst; number < items.list.length && found.length < max; number++)
    if (isWanted(itemAt(items, number) as StepState, number)) found.push(number);
  return found;
}

/** The number of the last item that meets a condition; -1 if none does. */
export function lastItem(items: Items, isWanted: (state: StepState) => boolean): number {
  for (let number = items.list.length - 1; number >= 0; number--)
    if (isWanted(itemAt(items, number) as StepState)) return number;
  return -1;
}

function isBegun({ act }: StepState): boolean {
  return act === "begun";
}

function isClosed({ act }: StepState): boolean {
  return act === "done" || act === "skipped";
}

function isRunning({ runningSinceMs }: StepState): boolean {
  return runningSinceMs !== undefined;
}

function isFailing({ failing }: StepState): boolean {
  return failing !== undefined;
}
