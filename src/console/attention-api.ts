/** GET api/attention: whatever needs a person, in one list. */
import type { AttentionItem } from "../operate/attention.ts";
import type { AttentionLine, Page } from "./contract.ts";
import type { Office } from "./office.ts";
import { limit, text } from "./param.ts";
import { route, type Route } from "./route.ts";

export function attentionRoutes({ amends }: Office): readonly Route[] {
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
        return { items: found.items.map(lineOf), next: found.next ?? null };
      },
    }),
  ];
}

/** What follows the path of an address may be a secret. */
export function safeUrl(url: string): string {
  if (!URL.canParse(url)) return "unreadable";
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function lineOf(item: AttentionItem): AttentionLine {
  return {
    kind: item.kind,
    // A letter is known by its delivery here.
    id: item.kind === "dead-letter" ? item.deliveryId : item.id,
    name: nameOf(item),
    since: item.since.toISOString(),
    reason: item.reason,
    actions: item.kind === "dead-letter" ? ["resend", "dismiss"] : item.actions,
    skippable: "skippable" in item ? item.skippable : [],
  };
}

function nameOf(item: AttentionItem): string {
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
      return safeUrl(item.url);
    default:
      return "erasure";
  }
}
