/** Webhooks that need a person: dead letters and disabled subscriptions. */
import { optional, text } from "../../storage/column.ts";
import { sourceOf, type Source } from "../../storage/read/selection.ts";
import { projection } from "../../storage/table.ts";
import { openLetters } from "../dead-letters/queries.ts";
import { toDeadLetter, type DeadLetter } from "../dead-letters/rows.ts";
import { disabledRows } from "../subscriptions/queries.ts";
import { readBriefs, toBrief, type SubscriptionBrief } from "./subscription-brief.ts";

export interface AddressedLetter extends DeadLetter {
  /** Where it was to go. */
  readonly subscription: SubscriptionBrief;
}

/** Open dead letters, oldest first. */
export const openDeadLetters: Source<AddressedLetter> = {
  rows: (dialect) => openLetters(dialect),
  read: async (reader, rows) => {
    const letters = rows.map(toDeadLetter);
    const briefs = await readBriefs(
      reader,
      letters.map(({ subscriptionId }) => subscriptionId),
    );
    return letters.map((letter) => ({
      ...letter,
      subscription: briefs.get(letter.subscriptionId) as SubscriptionBrief,
    }));
  },
};

export interface DisabledSubscription extends SubscriptionBrief {
  /** `failing`, or the code of the response that ended it. */
  readonly reason: string;
}

const REASON = projection({ reason: optional(text("reason")) });

/** Disabled subscriptions, the longest disabled first. */
export const disabledSubscriptions: Source<DisabledSubscription> = sourceOf(disabledRows, (row) => ({
  ...toBrief(row),
  reason: REASON.read(row).reason ?? "",
}));
