/**
 * A list that grows downward page by page. A row changes in its place; new rows wait above until the reader asks for
 * them, so that no row moves away under a finger.
 */
import { batch, signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Page } from "../../../src/console/contract.ts";
import { toApiError, get, isAbort, type ApiError } from "./api.ts";
import { refreshOn } from "./resource.ts";
import type { Topic } from "./live.ts";

export interface Pages<Item, Answer extends Page<Item> = Page<Item>> {
  /** Undefined until the first page is there. */
  readonly items: ReadonlySignal<readonly Item[] | undefined>;
  /** How many rows are newer than the first one shown. */
  readonly newer: ReadonlySignal<number>;
  /** The newest answer, for what it says beside its items. */
  readonly last: ReadonlySignal<Answer | undefined>;
  readonly loadError: ReadonlySignal<ApiError | undefined>;
  /** The rows belong to the query before; those of this one are on their way. */
  readonly stale: ReadonlySignal<boolean>;
  readonly busy: ReadonlySignal<boolean>;
  readonly more: ReadonlySignal<boolean>;
  readonly loadMore: () => void;
  readonly reload: () => void;
  /** Puts newer versions of what is shown into their places. */
  readonly update: (lines: readonly Item[]) => void;
}

export interface ListOptions<Item> {
  readonly topics: readonly Topic[];
  readonly idOf: (item: Item) => string;
  /** True where a line that is no longer on the first page is gone, not merely older. */
  readonly whole?: boolean;
  /** However often something changes, the list is read at most this often. Default: 3 s. */
  readonly paceMs?: number;
}

const PACE_MS = 3_000;
const RETRY_MS = 3_000;

interface List<Item, Answer extends Page<Item>> extends Pages<Item, Answer> {
  readonly refresh: () => void;
  readonly stop: () => void;
}

export function usePagedList<Item, Answer extends Page<Item> = Page<Item>>(
  path: string,
  options: ListOptions<Item>,
): Pages<Item, Answer> {
  const before = useRef<List<Item, Answer> | undefined>(undefined);
  const list = useMemo(() => listOf<Item, Answer>(path, options, before.current?.items.peek()), [path]);
  before.current = list;
  useEffect(() => {
    list.reload();
    const quit = refreshOn(options.topics, list.refresh, options.paceMs ?? PACE_MS);
    return () => {
      quit();
      list.stop();
    };
  }, [list]);
  return list;
}

function listOf<Item, Answer extends Page<Item>>(
  path: string,
  { idOf, whole }: ListOptions<Item>,
  before: readonly Item[] | undefined,
): List<Item, Answer> {
  const items = signal<readonly Item[] | undefined>(before);
  const stale = signal(true);
  const last = signal<Answer | undefined>(undefined);
  const newer = signal(0);
  const loadError = signal<ApiError | undefined>(undefined);
  const busy = signal(false);
  const more = signal(false);
  let next: string | null = null;
  let pagesShown = 0;
  let abort = new AbortController();
  let retry: ReturnType<typeof setTimeout> | undefined;

  const page = async (after: string | null, use: (answer: Answer) => void): Promise<void> => {
    const mine = abort;
    clearTimeout(retry);
    busy.value = true;
    try {
      const cursor =
        after === null ? "" : `${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(after)}`;
      const answer = await get<Answer>(`${path}${cursor}`, mine.signal);
      batch(() => {
        use(answer);
        loadError.value = undefined;
      });
    } catch (error) {
      if (isAbort(error)) return;
      const failure = toApiError(error);
      loadError.value = failure;
      // A server that is away may come back; a refusal stays one.
      if (failure.status === 0 || failure.status >= 500) retry = setTimeout(refresh, RETRY_MS);
    } finally {
      if (abort === mine) busy.value = false;
    }
  };
  const restart = (): void => {
    abort.abort();
    abort = new AbortController();
    void page(null, (answer) => {
      items.value = answer.items;
      stale.value = false;
      last.value = answer;
      next = answer.next;
      more.value = next !== null;
      newer.value = 0;
      pagesShown = 1;
    });
  };
  const update = (lines: readonly Item[]): void => {
    const shown = items.value;
    if (!shown || lines.length === 0) return;
    const byId = new Map(lines.map((line) => [idOf(line), line]));
    const changed = shown.map((item) => byId.get(idOf(item)) ?? item);
    if (changed.some((item, index) => item !== shown[index])) items.value = changed;
  };
  const refresh = (): void => {
    const shown = items.value;
    if (busy.value) return;
    if (!shown || stale.value || shown.length === 0 || (whole && pagesShown === 1)) {
      restart();
      return;
    }
    void page(null, (answer) => {
      last.value = answer;
      update(answer.items);
      const known = new Set(shown.map(idOf));
      newer.value = answer.items.filter((item) => !known.has(idOf(item))).length;
    });
  };
  return {
    items,
    newer,
    last,
    loadError,
    stale,
    busy,
    more,
    update,
    refresh,
    reload: restart,
    loadMore: () => {
      if (busy.value || next === null) return;
      void page(next, (answer) => {
        const known = new Set((items.value ?? []).map(idOf));
        items.value = [...(items.value ?? []), ...answer.items.filter((item) => !known.has(idOf(item)))];
        next = answer.next;
        more.value = next !== null;
        last.value = answer;
        pagesShown += 1;
      });
    },
    stop: () => {
      clearTimeout(retry);
      abort.abort();
    },
  };
}
