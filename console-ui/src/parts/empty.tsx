/** An empty state: what would be shown here, and how it gets here. */
import type { ComponentChildren, JSX } from "preact";
import type { Tone } from "../store/states.ts";
import type { ApiError } from "../store/api.ts";
import { Icon, type IconName } from "./icon.tsx";

interface Props {
  readonly icon: IconName;
  readonly title: string;
  readonly tone?: Tone;
  readonly code?: string;
  readonly small?: boolean;
  readonly children?: ComponentChildren;
}

export function Empty({ icon, title, tone = "sea", code, small = false, children }: Props): JSX.Element {
  return (
    <div class="empty" data-tone={tone} data-small={small}>
      <span class="empty-art">
        <Icon name={icon} size={22} />
      </span>
      <h2>{title}</h2>
      {children}
      {code && (
        <pre tabIndex={0} aria-label="Example">
          {code}
        </pre>
      )}
    </div>
  );
}

export function LoadError({
  error,
  retry,
}: {
  readonly error: ApiError;
  readonly retry: () => void;
}): JSX.Element {
  const lost = error.status === 404;
  return (
    <Empty
      icon={error.status === 0 ? "offline" : lost ? "search" : "alert"}
      tone={lost ? "stone" : "rose"}
      title={lost ? "Not found" : "Could not be loaded"}
    >
      <p>{error.message}</p>
      <p class="dim mono">{error.code}</p>
      {!lost && (
        <button type="button" class="btn" onClick={retry}>
          <Icon name="retry" size={14} />
          Try again
        </button>
      )}
    </Empty>
  );
}

export function Skeleton({ width }: { readonly width?: string }): JSX.Element {
  return <span class="skeleton" style={width ? { maxWidth: width } : {}} aria-hidden="true" />;
}
