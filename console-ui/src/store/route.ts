/**
 * The current page. Its address is in the fragment, so that the console works below any path of any server; filters and
 * search are in it too, so that a view can be sent to a colleague.
 */
import { computed, signal, type ReadonlySignal } from "@preact/signals";

export interface Route {
  /** `sagas/o-1` as `["sagas", "o-1"]`, decoded. */
  readonly path: readonly string[];
  readonly query: ReadonlyMap<string, string>;
}

export function parseRoute(hash: string): Route {
  const [path, query] = splitOnce(hash.replace(/^#\/?/u, ""), "?");
  return {
    path: path.split("/").filter(Boolean).map(decode),
    query: new Map(new URLSearchParams(query)),
  };
}

export function hrefOf(
  path: readonly string[],
  query: Iterable<readonly [string, string | undefined]> = [],
): string {
  const search = new URLSearchParams();
  for (const [name, value] of query) if (value) search.set(name, value);
  const text = search.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
}

function splitOnce(text: string, at: string): readonly [string, string] {
  const index = text.indexOf(at);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const hash = signal(location.hash);
export const route: ReadonlySignal<Route> = computed(() => parseRoute(hash.value));
export const pageName: ReadonlySignal<string> = computed(() => route.value.path[0] ?? "overview");

addEventListener("hashchange", () => (hash.value = location.hash));

export function navigate(href: string): void {
  location.hash = href;
}

/** Changes the query of this page without leaving a step in the history for every letter typed. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const query = new Map<string, string | undefined>(route.value.query);
  for (const [name, value] of Object.entries(changes)) query.set(name, value);
  history.replaceState(null, "", hrefOf(route.value.path, query));
  hash.value = location.hash;
}
