/** The items of a request: pages of them, a bounded count, and a sample. Items that arose after the start are not among them. */
import type { BulkKind } from "../core/bulk/action.ts";
import type { Count } from "../core/count.ts";
import type { Page } from "../core/cursor.ts";
import { sagaMachine } from "../core/saga/machine.ts";
import { abandonedItems } from "../outbox/read/abandoned-queries.ts";
import { countListed, listSagas, type SagaFilter } from "../sagas/read/list.ts";
import { COUNT_MAX } from "../sagas/view/list.ts";
import type { Reader } from "../storage/read/reader.ts";
import { countFitting, searchOldest, type Search } from "../storage/read/search.ts";
import { letterItems } from "../webhooks/read/letter-queries.ts";
import type { CheckedRequest, ItemFilter } from "./request.ts";

/** The first instant after this one that the database can tell from it. */
function justAfter({ dialect }: Reader, ms: number): number {
  return ms + dialect.pick({ postgres: 0.001, sqlite: 1 });
}

/** Items that last changed, were last tried, or became dead letters up to this instant; undefined: whenever. */
type Bound = number | undefined;

/** The page that begins at `after`. It may be short, or empty, although there is a next one. */
export async function itemsAfter(
  reader: Reader,
  { kind, ids, filter = {} }: CheckedRequest,
  bound: Bound,
  after: string | undefined,
  limit: number,
): Promise<Page<string>> {
  if (ids) {
    const from = Number(after ?? 0);
    const items = ids.slice(from, from + limit);
    return { items, next: from + limit < ids.length ? String(from + limit) : undefined };
  }
  if (kind !== "saga") return searchOldest(reader, searchOf(reader, kind, filter, bound), { limit, after });
  const page = { limit, after, archived: false };
  const { items, next } = await listSagas(reader, sagasOf(reader, filter, bound), page);
  return { items: items.map(({ id }) => id), next };
}

export async function countItems(reader: Reader, { kind, ids, filter = {} }: CheckedRequest): Promise<Count> {
  if (ids) return { value: ids.length, exact: true };
  if (kind === "saga") return countListed(reader, sagasOf(reader, filter, undefined), COUNT_MAX);
  return countFitting(reader, searchOf(reader, kind, filter, undefined), COUNT_MAX);
}

function sagasOf(reader: Reader, filter: ItemFilter, bound: Bound): SagaFilter {
  const { statuses = sagaMachine.states, names, attributes, error, fromMs, toMs } = filter;
  const untilMs = bound === undefined ? toMs : Math.min(toMs ?? Infinity, justAfter(reader, bound));
  return { statuses, names, attributes, error, fromMs, toMs: untilMs };
}

/** Later than every instant of the database, and within the range of a Date. */
const FAR_MS = Date.UTC(9000, 0, 1);

function searchOf(
  reader: Reader,
  kind: Exclude<BulkKind, "saga">,
  { name, subscription, error, fromMs, toMs }: ItemFilter,
  bound: Bound,
): Search {
  const { dialect } = reader;
  const beforeMs = bound === undefined ? FAR_MS : justAfter(reader, bound);
  if (kind !== "delivery")
    return abandonedItems(dialect, kind, { name, error, fromMs, toMs, triedBeforeMs: beforeMs });
  return letterItems(dialect, { subscription, error, fromMs, toMs: Math.min(toMs ?? FAR_MS, beforeMs) });
}
