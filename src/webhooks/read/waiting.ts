/** Webhooks that need a person: deliveries that were given up, and subscriptions that were disabled. */
import { id, optional, text } from "../../storage/column.ts";
import { sourceOf, type Source } from "../../storage/read/selection.ts";
import { projection } from "../../storage/table.ts";
import { openLetters } from "../dead-letters/queries.ts";
import { toDeadLetter, type DeadLetter } from "../dead-letters/rows.ts";
import { disabledRows } from "../subscriptions/queries.ts";
import { subscriptionUrls } from "./list.ts";

export interface AddressedLetter extends DeadLetter {
  /** Where it was to go. It may hold a secret: `shownUrl` leaves that out. */
  readonly url: string;
}

/** Open dead letters, oldest first. */
export const openDeadLetters: Source<AddressedLetter> = {
  rows: (dialect) => openLetters(dialect),
  read: async (reader, rows) => {
    const letters = rows.map(toDeadLetter);
    const ids = [...new Set(letters.map(({ subscriptionId }) => subscriptionId))];
    const urls = await subscriptionUrls(reader, ids);
    return letters.map((letter) => ({ ...letter, url: urls.get(letter.subscriptionId) ?? "" }));
  },
};

const DISABLED = projection({
  id: id("id"),
  url: text("url"),
  reason: optional(text("reason")),
});

export interface DisabledSubscription {
  readonly id: string;
  readonly url: string;
  /** `failing`, or the code of the response that ended it. */
  readonly reason: string | undefined;
}

/** Disabled subscriptions, the longest disabled first. */
export const disabledSubscriptions: Source<DisabledSubscription> = sourceOf(disabledRows, (row) =>
  DISABLED.read(row),
);
