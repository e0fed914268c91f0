/** Requests of data subjects from the audit trail, with the number of open entries of each. */
import { listRequests, type RequestFilter, type SubjectRequest } from "../audit/list.ts";
import type { Page } from "../core/cursor.ts";
import { countOpenEntries } from "../outbox/read/list.ts";
import type { Reader } from "../storage/read/reader.ts";

export interface ListedRequest extends SubjectRequest {
  /** Entries of the outbox that the subject's requests of this operation still wait for. */
  readonly openEntries: number;
  /** Of these, abandoned entries: they need an operator. */
  readonly abandonedEntries: number;
}

/** Newest first. */
export async function listSubjectRequests(
  reader: Reader,
  filter: RequestFilter,
): Promise<Page<ListedRequest>> {
  const { items, next } = await listRequests(reader, filter);
  const counts = await countOpenEntries(reader, [...new Set(items.map(({ subjectId }) => subjectId))]);
  return {
    items: items.map((request) => {
      const { subjectId, operation } = request;
      const count = counts.find((one) => one.subjectId === subjectId && one.operation === operation);
      return { ...request, openEntries: count?.entries ?? 0, abandonedEntries: count?.abandoned ?? 0 };
    }),
    next,
  };
}
