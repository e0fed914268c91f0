/** The frame of every page about one item: a skeleton of about its size first, then the item, or why it cannot be shown. */
import type { ComponentChildren, JSX } from "preact";
import type { Topic } from "../store/live.ts";
import { useResource, type Resource } from "../store/resource.ts";
import { LoadError, Skeleton } from "./empty.tsx";
import { PageHead } from "./page-head.tsx";

interface Props<T> {
  readonly resource: Resource<T>;
  readonly from: { readonly href: string; readonly word: string };
  readonly children: (data: T) => ComponentChildren;
}

interface PageProps<T> {
  /** Of the API, below its root. */
  readonly path: string;
  readonly topics: readonly Topic[];
  readonly from: Props<T>["from"];
  readonly children: (data: T, resource: Resource<T>) => ComponentChildren;
}

/** Loads one item, keeps it fresh, and frames it. */
export function DetailPage<T>({ path, topics, from, children }: PageProps<T>): JSX.Element {
  const resource = useResource<T>(path, topics);
  return (
    <DetailFrame resource={resource} from={from}>
      {(data) => children(data, resource)}
    </DetailFrame>
  );
}

export function DetailFrame<T>({ resource, from, children }: Props<T>): JSX.Element {
  const data = resource.data.value;
  const loadError = resource.loadError.value;
  if (data !== undefined) {
    return (
      <div class="page">
        {loadError?.status === 404 && (
          <p class="form-error" role="alert">
            This item no longer exists. You see its last known state.
          </p>
        )}
        {children(data)}
      </div>
    );
  }
  return (
    <div class="page">
      <PageHead from={from} title={loadError ? "Not found" : <Skeleton width="180px" />}>
        {!loadError && <Skeleton width="260px" />}
      </PageHead>
      {loadError ? (
        <div class="card">
          <LoadError error={loadError} retry={resource.reload} />
        </div>
      ) : (
        <div class="stack" aria-busy="true">
          <div class="card skeleton-block" />
          <div class="card skeleton-block" />
        </div>
      )}
    </div>
  );
}
