/** Pages of deliveries, newest first, and figures about them. */
import { countUpTo, type Count } from "../../core/count.ts";
import { cursor, type Page } from "../../core/cursor.ts";
import { deliveryMachine, type DeadLetterStatus, type DeliveryStatus } from "../../core/delivery/machine.ts";
import { isSerial } from "../../core/delivery/serial.ts";
import { id, optional, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { age, sign, type Figure } from "../../storage/read/figures.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { scanned } from "../../storage/read/scan.ts";
import { projection } from "../../storage/table.ts";
import { toDelivery, type Delivery } from "../delivery-queries.ts";
import { changeSign, oldestDue } from "./figure-queries.ts";
import {
  countStates,
  DELIVERY_SCAN_MAX,
  listNewest,
  selectAftermath,
  selectResponse,
  type DeliveryRange,
} from "./list-queries.ts";

export interface DeliveryPageFilter extends Omit<DeliveryRange, "after"> {
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly after: string | undefined;
}

const PLACE = cursor<[string]>(isSerial);

export async function listDeliveryPage(reader: Reader, filter: DeliveryPageFilter): Promise<Page<Delivery>> {
  const [after] = PLACE.decode(filter.after) ?? [];
  const { limit } = filter;
  const rows = await reader.query(listNewest(reader.dialect, { ...filter, after }, limit + 1));
  const { hits, cut } = scanned(rows, DELIVERY_SCAN_MAX);
  const items = hits.slice(0, limit).map(toDelivery);
  const last = hits.length > limit ? items.at(-1) : cut && toDelivery(cut);
  return { items, next: last && PLACE.encode(last.id) };
}

/** What became of a delivery after it had ended. */
export interface Aftermath {
  /** The state of its dead letter; undefined where it has none. */
  readonly deadLetter: DeadLetterStatus | undefined;
  /** The delivery that was made in its place. */
  readonly resentAs: string | undefined;
}

const AFTERMATH = projection({
  deadLetter: optional(text<DeadLetterStatus>("letter")),
  resentAs: optional(id("resent_as")),
});

export async function readAftermath(reader: Reader, deliveryId: string): Promise<Aftermath> {
  const [row = {}] = await reader.query(selectAftermath(reader.dialect, deliveryId));
  return AFTERMATH.read(row);
}

const RESPONSE = projection({ body: optional(text("response_body")) });

/** The stored part of a response; undefined where there is no such attempt. */
export async function readResponse(
  reader: Reader,
  attemptId: string,
): Promise<{ readonly body: string | undefined } | undefined> {
  const [row] = await reader.query(selectResponse(reader.dialect, attemptId));
  return row && RESPONSE.read(row);
}

export async function countDeliveries(
  reader: Reader,
  max: number,
): Promise<Readonly<Record<DeliveryStatus, Count>>> {
  const [row] = await reader.query(countStates(reader.dialect, max));
  const counts = deliveryMachine.states.map(
    (status) => [status, countUpTo(Number(row?.[status.toLowerCase()]), max)] as const,
  );
  return Object.fromEntries(counts) as unknown as Record<DeliveryStatus, Count>;
}

/** How long the oldest due delivery has waited, in milliseconds. */
export function dueWebhookAge(dialect: Dialect): Figure<number> {
  return age(dialect, oldestDue(dialect));
}

export function webhookSign(dialect: Dialect): Figure<string> {
  return sign(changeSign(dialect));
}
