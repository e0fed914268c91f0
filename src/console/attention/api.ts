/** GET api/attention: whatever needs a person, in one list. */
import type { AttentionItem } from "../../operate/attention.ts";
import type { AttentionLine, Page } from "../contract.ts";
import type { ConsoleContext } from "../context.ts";
import { limit, text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { urlsOf } from "../webhooks/api.ts";
import { safeUrl } from "../webhooks/lines.ts";

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
        const letters = found.items.filter((item) => item.kind === "dead-letter");
        const urls = await urlsOf(context, letters);
        return { items: found.items.map((item) => lineOf(item, urls)), next: found.next ?? null };
      },
    }),
  ];
}

function lineOf(item: AttentionItem, urls: ReadonlyMap<string, string>): AttentionLine {
  return {
    kind: item.kind,
    // A letter is known by its delivery here.
    id: item.kind === "dead-letter" ? item.deliveryId : item.id,
    name: nameOf(item),
    since: item.since.toISOString(),
    reason: reasonOf(item, urls),
    actions: item.kind === "dead-letter" ? ["resend", "dismiss"] : item.actions,
    skippable: "skippable" in item ? item.skippable : [],
  };
}

/** Two things of one kind must not look alike: it says whose, and where. */
function reasonOf(item: AttentionItem, urls: ReadonlyMap<string, string>): string {
  switch (item.kind) {
    case "abandoned-entry":
      return `for ${item.subjectId}: ${item.reason}, ${triesWord(item.attempts)}`;
    case "dead-letter": {
      const url = urls.get(item.subscriptionId) ?? "the endpoint";
      return `event ${item.eventId} to ${url}: ${answerWord(item.reason)}, ${triesWord(item.attemptCount)}`;
    }
    case "disabled-subscription":
      return item.reason === "failing"
        ? "nothing has arrived there for a long time"
        : answerWord(item.reason);
    default:
      return item.reason;
  }
}

const triesWord = (count: number): string => (count === 1 ? "1 try" : `${count} tries`);

/** The code of an attempt, in words. */
function answerWord(code: string): string {
  if (code === "gone") return "it answered HTTP 410 (gone for good)";
  const status = /^http_(\d{3})$/.exec(code)?.[1];
  return status === undefined ? code : `it answered HTTP ${status}`;
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
