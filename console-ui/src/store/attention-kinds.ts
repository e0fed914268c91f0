/** The kinds of attention items: what each is called, what it needs, and where it is shown. */
import type { AttentionLine } from "../../../src/console/contract.ts";
import type { IconName } from "../parts/icon.tsx";
import type { Target, TargetKind } from "./actions.ts";
import { hrefOf } from "./route.ts";

export interface AttentionKind {
  readonly word: string;
  readonly icon: IconName;
  readonly needs: (item: AttentionLine) => string;
  readonly target: TargetKind | undefined;
  /** Of an outbox entry. */
  readonly entryKind?: string;
  readonly href: (id: string) => string;
}

const kinds: Readonly<Record<AttentionLine["kind"], AttentionKind>> = {
  "stalled-saga": {
    word: "Stalled saga",
    icon: "sagas",
    needs: ({ skips, actions }) => {
      if (!actions.includes("skip"))
        return "Fix the cause and retry. Or settle it by hand, then resolve the saga.";
      return skips === "undo"
        ? "Fix the cause and retry. Or undo it by hand, then skip the undo or resolve the saga."
        : "Fix the cause and retry. Or do it by hand, then skip the step or resolve the saga.";
    },
    target: "saga",
    href: (id) => hrefOf(["sagas", id]),
  },
  "failing-saga": {
    word: "Failing saga",
    icon: "sagas",
    needs: () =>
      "Fix the cause: the step is tried again by itself. Or do it by hand, then skip the step or resolve the saga.",
    target: "saga",
    href: (id) => hrefOf(["sagas", id]),
  },
  "excluded-saga": {
    word: "Excluded saga",
    icon: "sagas",
    needs: () => "No worker claims it. Set its recovery attempts to 0 to put it back.",
    target: undefined,
    href: (id) => hrefOf(["sagas", id]),
  },
  "lost-saga": {
    word: "Lost saga",
    icon: "sagas",
    needs: () =>
      "Do not start this id again yet. Check what its steps did in the other systems, settle that by hand, then delete its lines as the runbook says (docs/guides/failover.md).",
    target: undefined,
    href: () => hrefOf(["attention"]),
  },
  "abandoned-entry": {
    word: "Abandoned erasure",
    icon: "erasures",
    needs: ({ actions }) =>
      actions.includes("requeue")
        ? "The other system rejected the request or was unavailable. Fix the cause, then requeue. If the system no longer exists, resolve it with evidence."
        : "The corrections are cleared: issue the rectification again, or resolve this one with evidence.",
    target: "entry",
    entryKind: "erasure",
    href: (id) => hrefOf(["outbox", id]),
  },
  "abandoned-call": {
    word: "Abandoned call",
    icon: "outbox",
    needs: () => "The call was rejected, or all attempts failed. Fix the cause, then requeue.",
    target: "entry",
    entryKind: "call",
    href: (id) => hrefOf(["outbox", id]),
  },
  "dead-letter": {
    word: "Dead letter",
    icon: "webhooks",
    needs: ({ subscription }) => {
      if (subscription?.gone)
        return "The endpoint is gone: dismiss the dead letter, or unsubscribe the endpoint, which dismisses all of them.";
      return subscription?.status === "Disabled"
        ? "The subscription is disabled: once its endpoint is available again, enable it and resend. Or dismiss."
        : "All attempts failed. Contact the endpoint’s owner, then resend or dismiss.";
    },
    target: "delivery",
    href: (id) => hrefOf(["webhooks", "deliveries", id]),
  },
  "abandoned-event": {
    word: "Abandoned event",
    icon: "flows",
    needs: () =>
      "All attempts of its handler failed, or no deployed version can read it. Fix the cause or deploy a version that can, then retry. Or resolve it by hand.",
    target: "entry",
    entryKind: "event",
    href: (id) => hrefOf(["outbox", id]),
  },
  "stalled-run": {
    word: "Stalled run",
    icon: "flows",
    needs: () => "An undo failed permanently. Fix the cause and retry. Or undo it by hand and resolve.",
    target: "flow",
    href: (id) => hrefOf(["flows", id]),
  },
  "overdue-erasure": {
    word: "Overdue erasure",
    icon: "erasures",
    needs: () => "The legal deadline has passed. Open the data subject to see which entries block it.",
    target: undefined,
    href: (id) => hrefOf(["erasures", id]),
  },
  "unserved-kind": {
    word: "No worker for these sagas",
    icon: "sagas",
    needs: () => "Run a worker whose definition fits these sagas. They go on by themselves.",
    target: undefined,
    href: () => hrefOf(["sagas"]),
  },
  "unserved-handler": {
    word: "No worker for this handler",
    icon: "flows",
    needs: () =>
      "Run a worker that has it: what waits is handled by itself. Or retire it if it is gone for good.",
    target: "handler",
    href: () => hrefOf(["outbox"]),
  },
  "overdue-schedule": {
    word: "Overdue schedule",
    icon: "schedules",
    needs: () =>
      "Run a worker that has its saga: the tick starts by itself. Or pause or remove the schedule.",
    target: "schedule",
    href: (id) => hrefOf(["schedules", id]),
  },
  "refused-write": {
    word: "Refused by the database",
    icon: "alert",
    needs: () =>
      "Repair the database as the reason says. The outcomes are kept and recorded by themselves; nothing is called again.",
    target: undefined,
    href: () => hrefOf(["attention"]),
  },
  "disabled-subscription": {
    word: "Disabled subscription",
    icon: "webhooks",
    needs: ({ subscription }) =>
      subscription?.gone
        ? "The endpoint is gone for good: unsubscribe it. Its dead letters are dismissed with it."
        : "No delivery succeeds. Contact the endpoint’s owner, then enable it or unsubscribe it.",
    target: "subscription",
    href: (id) => hrefOf(["webhooks", "subscriptions", id]),
  },
};

/** A newer server may know kinds that this page does not: they are shown without actions. */
export function attentionKind(kind: string): AttentionKind {
  const known: Readonly<Record<string, AttentionKind>> = kinds;
  return (
    known[kind] ?? {
      word: kind,
      icon: "alert",
      needs: () => "This page does not know this kind of item. Reload the page.",
      target: undefined,
      href: () => hrefOf(["attention"]),
    }
  );
}

/** What the buttons of an item act on; undefined where it has none. */
export function targetOf(item: AttentionLine): Target | undefined {
  const { target, entryKind } = attentionKind(item.kind);
  if (!target) return undefined;
  return {
    kind: target,
    id: item.id,
    name: item.name,
    skippable: item.skippable,
    skips: item.skips,
    subscription: item.subscription,
    reason: item.reason,
    ...(entryKind !== undefined && { entryKind }),
  };
}

/** The title of an item: what it is about, as people call it. */
export function titleOf({ kind, name, id, processId, subscription }: AttentionLine): string {
  const isSaga = ["stalled-saga", "failing-saga", "excluded-saga", "lost-saga"].includes(kind);
  if (isSaga) return `${name} ${id}`;
  if (kind === "stalled-run" && processId !== undefined) return `${name} ${processId}`;
  if (kind === "overdue-erasure") return `${name} of ${id}`;
  return kind === "dead-letter" && subscription ? `${name} → ${subscription.name}` : name;
}
