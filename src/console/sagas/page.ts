/** One page of sagas: which list answers what was typed. */
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Attributes } from "../../core/start/attributes.ts";
import { listSagas, listSagasByPrefix, type SagaFilter, type SearchPage } from "../../sagas/read/list.ts";
import type { ConsoleContext } from "../context.ts";
import type { SagaPage } from "../contract.ts";
import { iso, toLines } from "./lines.ts";
import { anyField, readSearch } from "./search.ts";

export interface SagaQuestion {
  readonly q: string | undefined;
  readonly name: string | undefined;
  readonly statuses: readonly SagaStatus[];
  readonly attributes: Attributes | undefined;
  readonly error: string | undefined;
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly limit: number;
  readonly after: string | undefined;
  readonly mayReveal: boolean;
}

/** If a word is part of more names than these, it says too little. */
const NAMES_MAX = 20;

export async function pageOf(context: ConsoleContext, question: SagaQuestion): Promise<SagaPage> {
  const { q, name, statuses, attributes, error, fromMs, toMs, limit, after } = question;
  const search = readSearch(q ?? "", q === undefined ? [] : await context.names(), question.mayReveal);
  const wanted = statuses.length > 0 ? statuses : sagaMachine.states;
  const names = search.names ?? (name === undefined ? undefined : [name]);
  const filter: SagaFilter = {
    statuses: wanted.filter((status) => search.statuses?.includes(status) ?? true),
    names: (name === undefined ? names : names?.filter((found) => found === name))?.slice(0, NAMES_MAX),
    attributes,
    error,
    fromMs,
    toMs,
  };
  const page = { limit, after, archived: true };
  if (filter.statuses.length === 0 || filter.names?.length === 0)
    return { items: [], next: null, searchedTo: null };
  const { reader } = context;
  const shown = async ({ items, next, searchedToMs }: SearchPage): Promise<SagaPage> => ({
    items: await toLines(reader, items),
    next: next ?? null,
    searchedTo: searchedToMs === undefined ? null : iso(searchedToMs),
  });
  const { fields, prefix } = search;
  if (fields.length === 0 && prefix === undefined) return shown(await listSagas(reader, filter, page));
  if (fields.length === 0 && prefix !== undefined) {
    const found = await listSagasByPrefix(reader, prefix, filter, page);
    if (found.items.length > 0) return shown({ ...found, searchedToMs: undefined });
  }
  // If no id begins like the word, it may be a value. On a later page the first page has decided.
  const sought = fields.length > 0 || prefix === undefined ? fields : [anyField(prefix)];
  return shown(await listSagas(reader, filter, page, sought));
}
