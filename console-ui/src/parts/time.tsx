/** An instant: how long ago, and exactly when on hover, on focus or by a tap. Its width does not change as it ticks. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { now } from "../store/clock.ts";
import { formatAgo, formatInstant, formatDuration, formatZone } from "../store/format.ts";

interface Props {
  readonly at: string | number | null | undefined;
  /** What is shown where there is no instant. */
  readonly none?: string;
  readonly class?: string;
}

export function Time({ at, none = "–", class: extra = "" }: Props): JSX.Element {
  const [exact, setExact] = useState(false);
  if (at === null || at === undefined) return <span class={`dim ${extra}`}>{none}</span>;
  const atMs = typeof at === "number" ? at : Date.parse(at);
  const full = `${formatInstant(atMs)} ${formatZone(atMs)}`;
  return (
    <time
      class={`time num nowrap ${extra}`}
      dateTime={Number.isNaN(atMs) ? undefined : new Date(atMs).toISOString()}
      data-tip={full}
      onClick={() => setExact(!exact)}
    >
      {exact ? formatInstant(atMs).slice(0, 19) : formatAgo(atMs, now.value)}
    </time>
  );
}

/** From then until then, or until now while it lasts. */
export function Span({
  from,
  to,
}: {
  readonly from: string | number;
  readonly to?: string | number | null | undefined;
}): JSX.Element {
  const start = typeof from === "number" ? from : Date.parse(from);
  const end = to === null || to === undefined ? now.value : typeof to === "number" ? to : Date.parse(to);
  return <span class="num nowrap">{formatDuration(end - start)}</span>;
}
