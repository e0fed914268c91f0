/** GET api/attention: what needs a person, in one list. */
import { ATTENTION_KINDS, type AttentionFacts, type AttentionItem } from "../../attention/item.ts";
import type { ConsoleContext } from "../context.ts";
import type { AttentionCount, AttentionLine, Page } from "../contract.ts";
import { after, toPage } from "../http/page.ts";
import { limit, oneOf } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { toBrief } from "../webhooks/lines.ts";

export function attentionRoutes(context: ConsoleContext): readonly Route[] {
  const { amends } = context;
  return [
    route({
      method: "GET",
      path: "/api/attention",
      access: "read",
      summary: "What needs a person, oldest first, with what each item allows.",
      answers: "Page<AttentionLine>",
      query: { kind: oneOf(ATTENTION_KINDS), limit: limit(), after: after() },
      handle: async ({ query }): Promise<Page<AttentionLine>> => {
        const { kind, limit: max, after: place } = query;
        const options = { limit: max, ...(kind && { kind }), ...(place !== undefined && { after: place }) };
        return toPage(await amends.attention.list(options), toLine);
      },
    }),
    route({
      method: "GET",
      path: "/api/attention/count",
      access: "read",
      summary: "How many items need a person, by kind.",
      answers: "AttentionCount",
      handle: async (): Promise<AttentionCount> => context.attention(),
    }),
  ];
}

function toLine(item: AttentionItem): AttentionLine {
  const { kind, id, name, since, reason, actions } = item;
  // A fact of every item that is missing here does not compile: it would be missing in the API and on the command line.
  const facts = {
    kind,
    id,
    name,
    since: since.toISOString(),
    reason,
    actions,
  } satisfies Record<keyof AttentionFacts, unknown>;
  switch (item.kind) {
    case "stalled-saga":
      return {
        ...facts,
        skippable: item.skippable,
        skips: item.undoErrors.length > 0 ? "undo" : "act",
      };
    case "stalled-run":
      return { ...facts, skippable: [], processId: item.processId };
    case "failing-saga":
      return { ...facts, skippable: item.skippable, skips: "act" };
    case "dead-letter":
    case "disabled-subscription":
      return { ...facts, skippable: [], subscription: toBrief(item.subscription) };
    default:
      return { ...facts, skippable: [] };
  }
}
