/**
 * One answer of the server, kept fresh. The last answer stays on the screen while it is loaded again or cannot be loaded,
 * so that nothing blinks and nothing jumps; a skeleton is only for what was never loaded. Components that show the same
 * answer share one resource and its requests.
 */
import { batch, effect, signal, untracked, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { get, isAbort, toApiError, type ApiError } from "./api.ts";
import { revisionOf, type Topic } from "./live.ts";

export interface Resource<T> {
  readonly data: ReadonlySignal<T | undefined>;
  readonly loadError: ReadonlySignal<ApiError | undefined>;
  readonly reload: () => void;
  /** Takes an answer that came another way, such as that of an action. */
  readonly accept: (data: T) => void;
}

/** However often something changes, it is loaded at most this often. */
const PACE_MS = 2_000;
const RETRY_MS = 3_000;
const CELLS_MAX = 40;

interface Cell<T> extends Resource<T> {
  readonly data: Signal<T | undefined>;
  readonly stop: () => void;
  /** How many components show it. */
  users: number;
}

/** By path. A cell without users keeps its last answer until there are too many. */
const cells = new Map<string, Cell<unknown>>();

export function useResource<T>(
  path: string,
  topics: readonly Topic[] = [],
  paceMs: number = PACE_MS,
): Resource<T> {
  const cell = useMemo(() => cellOf<T>(path), [path]);
  useEffect(() => {
    cell.users += 1;
    if (cell.users === 1) cell.reload();
    const quit = refreshOn(topics, cell.reload, paceMs);
    return () => {
      quit();
      cell.users -= 1;
      if (cell.users === 0) cell.stop();
    };
  }, [cell]);
  return cell;
}

/**
 * Calls back when one of the topics changes: for an action of this page at once, for a notice of the server at most once
 * per pace, and never for a hidden page.
 */
export function refreshOn(topics: readonly Topic[], callback: () => void, paceMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastAt = performance.now();
  let actions: number | undefined;
  const run = (): void => {
    timer = undefined;
    lastAt = performance.now();
    if (!document.hidden) callback();
  };
  const stop = effect(() => {
    const before = actions;
    actions = topics.reduce((sum, topic) => {
      const { actions: own } = revisionOf(topic);
      return sum + own;
    }, 0);
    if (before === undefined) return;
    const isUrgent = actions !== before;
    untracked(() => {
      if (timer !== undefined && !isUrgent) return;
      clearTimeout(timer);
      timer = setTimeout(run, isUrgent ? 0 : Math.max(0, lastAt + paceMs - performance.now()));
    });
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

function cellOf<T>(path: string): Cell<T> {
  const known = cells.get(path) as Cell<T> | undefined;
  if (known) return known;
  const cell = makeCell<T>(path);
  cells.set(path, cell as Cell<unknown>);
  if (cells.size > CELLS_MAX) {
    const unused = [...cells].find(([, { users }]) => users === 0);
    if (unused && unused[0] !== path) cells.delete(unused[0]);
  }
  return cell;
}

function makeCell<T>(path: string): Cell<T> {
  const data = signal<T | undefined>(undefined);
  const loadError = signal<ApiError | undefined>(undefined);
  let abort: AbortController | undefined;
  let again = false;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const load = async (): Promise<void> => {
    if (abort) {
      again = true;
      return;
    }
    clearTimeout(retry);
    const mine = new AbortController();
    abort = mine;
    try {
      const answer = await get<T>(path, mine.signal);
      batch(() => {
        data.value = answer;
        loadError.value = undefined;
      });
    } catch (error) {
      if (isAbort(error)) return;
      const failure = toApiError(error);
      loadError.value = failure;
      // A server that is away may come back; a refusal stays one.
      if (failure.status === 0 || failure.status >= 500) retry = setTimeout(() => void load(), RETRY_MS);
    } finally {
      if (abort === mine) abort = undefined;
    }
    if (again) {
      again = false;
      await load();
    }
  };
  return {
    data,
    loadError,
    users: 0,
    reload: () => void load(),
    accept: (answer) => {
      data.value = answer;
    },
    stop: () => {
      again = false;
      clearTimeout(retry);
      abort?.abort();
      abort = undefined;
    },
  };
}
