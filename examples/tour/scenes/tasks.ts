/** What the story leaves to an operator: numbered tasks, each with the action that is right for it. */
import type { Stage } from "../stage.ts";

interface Item {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly reason: string;
  readonly subscription?: { readonly name: string; readonly gone: boolean };
}

export interface Task {
  readonly number: number;
  /** What it is about, in a few words. */
  readonly name: string;
  readonly problem: string;
  /** As the console's button says it. */
  readonly button: string;
  readonly why: string;
  /** Below `#/` in the console, and below `api/` for its action. */
  readonly path: string;
  readonly action: string;
  /** The attention items that end with it. */
  readonly items: readonly string[];
}

const keyOf = ({ kind, id }: Item): string => `${kind} ${id}`;

/** The attention list as tasks. The dead letters of an endpoint that is gone go with its subscription. */
export async function tasksOf(stage: Stage): Promise<readonly Task[]> {
  const items = await listed(stage);
  const gone = items.filter(
    ({ kind, subscription }) => kind === "dead-letter" && subscription?.gone === true,
  );
  return items
    .filter((item) => !gone.includes(item))
    .map((item, index) => taskOf(item, index + 1, item.kind === "disabled-subscription" ? gone : []));
}

/** The keys of everything that is on the attention list now. */
export async function openItems(stage: Stage): Promise<ReadonlySet<string>> {
  return new Set((await listed(stage)).map(keyOf));
}

async function listed({ door }: Stage): Promise<readonly Item[]> {
  return ((await door.call("GET", "attention")) as { readonly items: readonly Item[] }).items;
}

function taskOf(item: Item, number: number, others: readonly Item[]): Task {
  const items = [item, ...others].map(keyOf);
  const problem = item.reason.replace(/^for \S+: /, "");
  const id = encodeURIComponent(item.id);
  switch (item.kind) {
    case "stalled-saga": {
      const name = `order ${item.id}`;
      return {
        number,
        name,
        problem,
        button: "Retry",
        why: "refunds work again",
        path: `sagas/${id}`,
        action: "retry",
        items,
      };
    }
    case "abandoned-entry": {
      const name = `erasure of ${subjectIn(item)}`;
      return {
        number,
        name,
        problem,
        button: "Requeue",
        why: "the newsletter is back",
        path: `outbox/${id}`,
        action: "requeue",
        items,
      };
    }
    case "disabled-subscription": {
      const name = `webhooks to ${item.name}`;
      const why = "the endpoint is gone; its dead letters go with it";
      return {
        number,
        name,
        problem,
        button: "Unsubscribe",
        why,
        path: `webhooks/subscriptions/${id}`,
        action: "unsubscribe",
        items,
      };
    }
    default: {
      const name = `webhook to ${item.subscription?.name ?? "a partner"}`;
      return {
        number,
        name,
        problem,
        button: "Resend",
        why: "the warehouse is back",
        path: `webhooks/deliveries/${id}`,
        action: "resend",
        items,
      };
    }
  }
}

/** `for u-ann: newsletter did not erase …` */
function subjectIn({ reason }: Item): string {
  return /^for (\S+):/.exec(reason)?.[1] ?? "a customer";
}
