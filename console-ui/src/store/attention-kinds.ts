/** What each kind of trouble is called, what it needs, and where it is looked at. */
import type { AttentionLine } from "../../../src/console/contract.ts";
import type { IconName } from "../parts/icon.tsx";
import type { TargetKind } from "./actions.ts";
import { hrefOf } from "./route.ts";

export interface AttentionKind {
  readonly word: string;
  readonly icon: IconName;
  readonly needs: string;
  readonly target: TargetKind | undefined;
  readonly href: (id: string) => string;
}

const kinds: Readonly<Record<AttentionLine["kind"], AttentionKind>> = {
  "stalled-saga": {
    word: "Stalled saga",
    icon: "sagas",
    needs:
      "See what could not be undone. Mend the cause and retry, or settle it by hand and skip or resolve.",
    target: "saga",
    href: (id) => hrefOf(["sagas", id]),
  },
  "abandoned-entry": {
    word: "Abandoned entry",
    icon: "outbox",
    needs: "The other system refused or was away too long. Mend the cause, then requeue.",
    target: "entry",
    href: (id) => hrefOf(["outbox", id]),
  },
  "abandoned-call": {
    word: "Abandoned call",
    icon: "outbox",
    needs: "A call of your own was refused, or failed too often. Mend the cause, then requeue.",
    target: "entry",
    href: (id) => hrefOf(["outbox", id]),
  },
  "dead-letter": {
    word: "Dead letter",
    icon: "webhooks",
    needs: "The endpoint never accepted it. Talk to its owner, then resend or dismiss.",
    target: "delivery",
    href: (id) => hrefOf(["webhooks", "deliveries", id]),
  },
  "abandoned-event": {
    word: "Abandoned event",
    icon: "flows",
    needs:
      "Its handler gave it up, or nobody could read it. Mend the cause, or deploy the version that understands it, then retry; or settle it by hand and resolve.",
    target: "entry",
    href: (id) => hrefOf(["outbox", id]),
  },
  "stalled-run": {
    word: "Stalled run",
    icon: "flows",
    needs: "An undo has failed for good. Mend the cause and retry, or settle it by hand and resolve.",
    target: "flow",
    href: (id) => hrefOf(["flows", id]),
  },
  "overdue-erasure": {
    word: "Overdue erasure",
    icon: "erasures",
    needs: "The legal deadline has passed. Open the subject to see which entries block it.",
    target: undefined,
    href: (id) => hrefOf(["erasures", id]),
  },
  "disabled-subscription": {
    word: "Disabled subscription",
    icon: "webhooks",
    needs: "The endpoint failed for too long, or is gone. Ask its owner, then enable it or unsubscribe it.",
    target: "subscription",
    href: (id) => hrefOf(["webhooks", "subscriptions", id]),
  },
};

/** A newer server may know kinds that this page does not: they are shown all the same, without actions. */
export function kindOf(kind: string): AttentionKind {
  const known: Readonly<Record<string, AttentionKind>> = kinds;
  return (
    known[kind] ?? {
      word: kind,
      icon: "alert",
      needs: "This page does not know this kind of trouble: load it again.",
      target: undefined,
      href: () => hrefOf(["attention"]),
    }
  );
}
