/** What a delivery, or an attention item, shows of its subscription. */
import type { SubscriptionStatus } from "../../core/delivery/machine.ts";
import { id, optional, text } from "../../storage/column.ts";
import type { Row } from "../../storage/database.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { projection } from "../../storage/table.ts";
import { shownUrl } from "../shown-url.ts";
import { selectBriefs } from "./list-queries.ts";

/** What is shown of a subscription. */
export interface SubscriptionBrief {
  /** The id of the subscription. */
  readonly id: string;
  /** Its description, or else its address without query and credentials. */
  readonly name: string;
  /** Its address without query and credentials. */
  readonly url: string;
  /** Its state. */
  readonly status: SubscriptionStatus;
  /** It was disabled because its endpoint answered 410: no delivery can succeed there. */
  readonly gone: boolean;
}

const BRIEF = projection({
  id: id("id"),
  url: text("url"),
  description: optional(text("description")),
  status: text<SubscriptionStatus>("status"),
  reason: optional(text("reason")),
});

/** The reason that a subscription has after its endpoint answered 410. */
export const GONE = "gone";

export function toBrief(row: Row): SubscriptionBrief {
  const { id: subscriptionId, description, status, reason, ...given } = BRIEF.read(row);
  const url = shownUrl(given.url);
  const gone = status === "Disabled" && reason === GONE;
  return { id: subscriptionId, name: description ?? url, url, status, gone };
}

/** By their ids. One that retention has removed counts as deleted. */
export async function readBriefs(
  reader: Reader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SubscriptionBrief>> {
  const distinct = [...new Set(ids)];
  const rows = distinct.length === 0 ? [] : await reader.query(selectBriefs(reader.dialect, distinct));
  const known = new Map(rows.map(toBrief).map((brief) => [brief.id, brief]));
  return new Map(distinct.map((one) => [one, known.get(one) ?? unknown(one)]));
}

function unknown(of: string): SubscriptionBrief {
  return { id: of, name: `subscription ${of}`, url: "", status: "Deleted", gone: false };
}
