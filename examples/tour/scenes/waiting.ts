/** What needs a person, as the console lists it. */
import type { Stage } from "../stage.ts";

export interface Waiting {
  readonly kind: string;
  /** In words that fit the first column. */
  readonly what: string;
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

/** Names that say more than what the reason says. */
const NAMED: ReadonlySet<string> = new Set(["stalled-saga", "disabled-subscription"]);

export function sentenceOf({ kind, name, reason }: Waiting): string {
  return NAMED.has(kind) ? `${name}: ${reason}` : reason;
}

const WORDS: Readonly<Record<string, string>> = {
  "stalled-saga": "stalled",
  "abandoned-entry": "abandoned",
  "dead-letter": "dead letter",
  "disabled-subscription": "disabled",
};

export async function waiting({ door }: Stage): Promise<readonly Waiting[]> {
  const page = (await door.call("GET", "attention")) as { readonly items: readonly Omit<Waiting, "what">[] };
  return page.items.map(({ kind, id, name, reason }) => ({
    kind,
    what: WORDS[kind] ?? kind,
    id,
    name,
    reason,
  }));
}
