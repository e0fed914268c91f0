/**
 * One thing that the server knows, kept fresh. What was there stays on the screen while it is loaded again or cannot be
 * loaded, so that nothing blinks and nothing jumps; a skeleton is only for what was never seen.
 */
import { batch, effect, signal, untracked, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { toApiError, get, isAbort, type ApiError } from "./api.ts";
import { revisionOf, type Topic } from "./live.ts";

export interface Resource<T> {
  readonly data: ReadonlySignal<T | undefined>;
  readonly loadError: ReadonlySignal<ApiError | undefined>;
  readonly reload: () => void;
  /** Takes an answer that came another way, such as that of an action. */
  readonly accept: (data: T) => void;
}

/** However often something changes, it is loaded at most this often. */
const PACE_MS = 1_000;
const SEEN_MAX = 40;
const seen = new Map<string, unknown>();

interface Cell<T> extends Resource<T> {
  readonly data: Signal<T | undefined>;
  readonly stop: () => void;
}

export function useResource<T>(path: string | undefined, topics: readonly Topic[] = []): Resource<T> {
  const cell = useMemo(() => cellOf<T>(path), [path]);
  useEffect(() => {
    cell.reload();
    const quit = refreshOn(topics, cell.reload);
    return () => {
      quit();
      cell.stop();
    };
  }, [cell]);
  return cell;
}

/** Calls back when one of the topics changes: at once, then at most once per pace, and never for a hidden page. */
export function refreshOn(topics: readonly Topic[], callback: () => void, paceMs = PACE_MS): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastAt = performance.now();
  let first = true;
  const stop = effect(() => {
    for (const topic of topics) revisionOf(topic);
    if (first) {
      first = false;
      return;
    }
    untracked(() => {
      if (timer !== undefined) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          lastAt = performance.now();
          if (!document.hidden) callback();
        },
        Math.max(0, lastAt + paceMs - performance.now()),
      );
    });
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

function cellOf<T>(path: string | undefined): Cell<T> {
  const data = signal<T | undefined>(path === undefined ? undefined : (seen.get(path) as T | undefined));
  const loadError = signal<ApiError | undefined>(undefined);
  let abort: AbortController | undefined;
  let again = false;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const load = async (): Promise<void> => {
    if (path === undefined) return;
    if (abort) {
      again = true;
      return;
    }
    clearTimeout(retry);
    const mine = new AbortController();
    abort = mine;
    try {
      const answer = await get<T>(path, mine.signal);
      remember(path, answer);
      batch(() => {
        data.value = answer;
        loadError.value = undefined;
      });
    } catch (error) {
      if (isAbort(error)) return;
      const failure = toApiError(error);
      loadError.value = failure;
      // Silence ends by itself; a refusal does not.
      if (failure.status === 0 || failure.status >= 500) retry = setTimeout(() => void load(), 3_000);
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
    reload: () => void load(),
    accept: (answer) => {
      if (path !== undefined) remember(path, answer);
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

function remember(path: string, answer: unknown): void {
  seen.delete(path);
  seen.set(path, answer);
  const oldest = seen.keys().next();
  if (seen.size > SEEN_MAX && !oldest.done) seen.delete(oldest.value);
}
