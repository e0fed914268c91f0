/** Bulk actions: which dialog is open, what each action says, and how a filter reads. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { BulkAction, BulkItemsGiven, BulkLine, BulkStatus } from "../../../src/console/contract-bulk.ts";
import type { IconName } from "../parts/icon.tsx";
import { formatCount } from "./format.ts";
import type { Topic } from "./live.ts";
import type { Look } from "./states.ts";

export interface BulkSpec {
  readonly label: string;
  readonly icon: IconName;
  readonly explain: string;
  readonly danger?: true;
  readonly asks?: "step" | "outcome";
  readonly reasons: readonly string[];
}

const BACK = ["The other system is available again", "The cause is fixed"];
const BY_HAND = ["Done by hand"];

export const bulkSpecs: Readonly<Record<BulkAction, BulkSpec>> = {
  retry: {
    label: "Retry",
    icon: "retry",
    explain: "Each stalled saga resumes with a new set of attempts. Completed steps are not repeated.",
    reasons: BACK,
  },
  cancel: {
    label: "Cancel",
    icon: "stop",
    explain:
      "Each saga stops, and its completed steps are undone. Sagas that have reached their pivot are refused.",
    danger: true,
    reasons: ["Started by mistake"],
  },
  skip: {
    label: "Skip step",
    icon: "skip",
    explain:
      "Each saga goes on without the step, whose work was done by hand. A saga that does not stand at it is refused.",
    danger: true,
    asks: "step",
    reasons: BY_HAND,
  },
  resolve: {
    label: "Resolve",
    icon: "resolve",
    explain: "Each saga ends with the outcome that you choose. No further step or undo is called.",
    danger: true,
    asks: "outcome",
    reasons: ["Settled by hand with the provider"],
  },
  requeue: {
    label: "Requeue",
    icon: "retry",
    explain: "Each abandoned call is made again with a new set of attempts, under the same idempotency key.",
    reasons: BACK,
  },
  resend: {
    label: "Resend",
    icon: "retry",
    explain:
      "Each dead delivery is sent again as a new one. Those of disabled or deleted subscriptions are refused.",
    reasons: ["The endpoint is available again", "The partner asked for it"],
  },
};

/** What a list of sagas may be acted on with. */
export const SAGA_ACTIONS: readonly BulkAction[] = ["retry", "cancel", "skip", "resolve"];

export interface OpenedBulk {
  readonly actions: readonly BulkAction[];
  /** Without the action. */
  readonly items: Omit<BulkItemsGiven, "action">;
}

const opened = signal<OpenedBulk | undefined>(undefined);
/** The dialog that is open. */
export const openedBulk: ReadonlySignal<OpenedBulk | undefined> = opened;

export function openBulk(bulk: OpenedBulk): void {
  opened.value = bulk;
}

export function closeBulk(): void {
  opened.value = undefined;
}

/** What a bulk action makes out of date. */
export const BULK_TOUCHES: readonly Topic[] = [
  "sagas",
  "outbox",
  "webhooks",
  "attention",
  "audit",
  "overview",
];

export const bulkLooks: Readonly<Record<BulkStatus, Look>> = {
  running: {
    word: "Running",
    tone: "sky",
    icon: undefined,
    meaning: "A worker carries it out, 50 items at a time.",
  },
  stopping: {
    word: "Stopping",
    tone: "copper",
    icon: undefined,
    meaning: "The page under way is still carried out and counted.",
  },
  completed: {
    word: "Completed",
    tone: "sea",
    icon: "check",
    meaning: "Every item was carried out or refused.",
  },
  stopped: {
    word: "Stopped",
    tone: "stone",
    icon: "stop",
    meaning: "An operator stopped it. Repeat it for what is left.",
  },
};

const kinds: Readonly<Record<BulkLine["kind"], readonly [one: string, more: string]>> = {
  saga: ["saga", "sagas"],
  call: ["call", "calls"],
  erasure: ["erasure", "erasures"],
  delivery: ["delivery", "deliveries"],
};

/** `12 sagas`, `10,000 or more calls`. */
export function countWords(kind: BulkLine["kind"], count: number, exact: boolean): string {
  const [one, more] = kinds[kind];
  return `${formatCount(count)}${exact ? "" : " or more"} ${count === 1 && exact ? one : more}`;
}

/** The kind of the items of an action that is not started yet. */
export function kindOf(action: BulkAction, items: OpenedBulk["items"]): BulkLine["kind"] {
  if (action === "resend") return "delivery";
  return action === "requeue" ? (items.kind ?? "call") : "saga";
}

/** The filter in a few words: `STALLED, saga order`. */
export function filterWords({ filter, kind, total, exact }: BulkLine): string {
  if (filter === null) return `a list of ${countWords(kind, total, exact)}`;
  const { status = [], attributes = {}, ...rest } = filter;
  const words = [
    ...status,
    ...Object.entries(rest).map(([name, value]) => `${name} ${value}`),
    ...Object.entries(attributes).map(([name, value]) => `${name}=${value}`),
  ];
  return words.length === 0 ? "all of them" : words.join(", ");
}
