/** GET api/attention: whatever needs a person, in one list. */
import type { AttentionItem } from "../../operate/attention.ts";
import type { AttentionLine, Page } from "../contract.ts";
import type { SubscriptionBrief } from "../contract-parts.ts";
import type { ConsoleContext } from "../context.ts";
import { limit, text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { briefsOf, deliveryActions, type Brief } from "../webhooks/api.ts";
import { GONE_ACTIONS, unknownBrief } from "../webhooks/lines.ts";

export function attentionRoutes(context: ConsoleContext): readonly Route[] {
  const { amends } = context;
  return [
    route({
      method: "GET",
      path: "/api/attention",
      access: "read",
      summary: "Whatever needs a person, oldest first, with what each allows.",
      answers: "Page<AttentionLine>",
      query: { limit: limit(), after: text(2_000) },
      handle: async ({ query }): Promise<Page<AttentionLine>> => {
        const { limit: max, after } = query;
        const found = await amends.attention.list({ limit: max, ...(after !== undefined && { after }) });
        const briefs = await briefsOf(context, found.items.flatMap(subscriptionOf));
        return { items: found.items.map((item) => lineOf(item, briefs)), next: found.next ?? null };
      },
    }),
  ];
}

function subscriptionOf(item: AttentionItem): readonly { readonly subscriptionId: string }[] {
  if (item.kind === "disabled-subscription") return [{ subscriptionId: item.id }];
  return item.kind === "dead-letter" ? [item] : [];
}

type Briefs = ReadonlyMap<string, Brief>;

function lineOf(item: AttentionItem, briefs: Briefs): AttentionLine {
  const [owner] = subscriptionOf(item);
  const subscription =
    owner && (briefs.get(owner.subscriptionId)?.shown ?? unknownBrief(owner.subscriptionId));
  return {
    kind: item.kind,
    // The console knows a dead letter by its delivery.
    id: item.kind === "dead-letter" ? item.deliveryId : item.id,
    name: nameOf(item, subscription),
    since: item.since.toISOString(),
    reason: reasonOf(item, briefs),
    actions: actionsOf(item, subscription),
    skippable: "skippable" in item ? item.skippable : [],
    ...(item.kind === "stalled-saga" && { skips: item.undoErrors.length > 0 ? "undo" : "act" }),
    ...(subscription && { subscription }),
  };
}

function actionsOf(item: AttentionItem, subscription: SubscriptionBrief | undefined): readonly string[] {
  if (item.kind === "dead-letter" && subscription) return deliveryActions(subscription, true);
  if (item.kind === "disabled-subscription" && subscription?.gone === true) return GONE_ACTIONS;
  return item.actions;
}

/** Two items of one kind must not look alike: the reason says whose, and where. */
function reasonOf(item: AttentionItem, briefs: Briefs): string {
  switch (item.kind) {
    case "abandoned-entry":
      return `for ${item.subjectId}: ${item.reason}, ${attemptsWord(item.attempts)}`;
    case "dead-letter": {
      const url = briefs.get(item.subscriptionId)?.url ?? "the endpoint";
      return `event ${item.eventId} to ${url}: ${answerWord(item.reason)}, ${attemptsWord(item.attemptCount)}`;
    }
    case "disabled-subscription":
      return `${briefs.get(item.id)?.url ?? "the endpoint"}: ${item.reason === "failing" ? "no delivery has succeeded for a long time" : answerWord(item.reason)}`;
    default:
      return item.reason;
  }
}

const attemptsWord = (count: number): string => (count === 1 ? "1 attempt" : `${count} attempts`);

/** The code of an attempt, in words. */
function answerWord(code: string): string {
  if (code === "gone") return "it answered HTTP 410 (gone for good)";
  if (code === "subscription_disabled") return "not sent, the subscription is disabled";
  if (code === "subscription_deleted") return "not sent, the subscription was deleted";
  const status = /^http_(\d{3})$/.exec(code)?.[1];
  return status === undefined ? code : `it answered HTTP ${status}`;
}

function nameOf(item: AttentionItem, subscription: SubscriptionBrief | undefined): string {
  switch (item.kind) {
    case "stalled-saga":
      return item.saga;
    case "stalled-flow":
      return item.saga;
    case "abandoned-entry":
      return item.resolver;
    case "abandoned-call":
      return item.call;
    case "given-up-event":
      return item.event;
    case "dead-letter":
      return item.eventType;
    case "disabled-subscription":
      return subscription?.name ?? item.id;
    default:
      return "erasure";
  }
}
