/**
 * An instant, as the reader chose to see times (store/times.ts). The exact instant in both zones is in its tip: on hover,
 * by a tap, and on focus where it is focusable. Lists have too many times for a tab stop each: there the switch shows the
 * exact times.
 */
import type { JSX } from "preact";
import { now } from "../store/clock.ts";
import {
  formatAgo,
  formatDuration,
  formatInstant,
  formatPlanned,
  formatShort,
  formatZone,
} from "../store/format.ts";
import { timeStyle } from "../store/times.ts";

interface Props {
  readonly at: string | number | null | undefined;
  /** What is shown where there is no instant. */
  readonly none?: string;
  readonly class?: string;
  /** The instant of something that is to happen: once it has passed, it is overdue. */
  readonly planned?: boolean;
  /** Can be reached with the Tab key. */
  readonly focusable?: boolean;
}

export function Time({
  at,
  none = "–",
  class: extra = "",
  planned = false,
  focusable = false,
}: Props): JSX.Element {
  if (at === null || at === undefined) return <span class={`dim ${extra}`}>{none}</span>;
  const atMs = typeof at === "number" ? at : Date.parse(at);
  return (
    <time
      class={`time num nowrap ${extra}`}
      dateTime={Number.isNaN(atMs) ? undefined : new Date(atMs).toISOString()}
      data-tip={exactTip(atMs)}
      tabIndex={focusable ? 0 : undefined}
    >
      {shown(atMs, planned)}
    </time>
  );
}

function shown(atMs: number, planned: boolean): string {
  const style = timeStyle.value;
  if (style !== "relative") return formatShort(atMs, now.value, style);
  return planned ? formatPlanned(atMs, now.value) : formatAgo(atMs, now.value);
}

/** The exact instant in the reader's zone and, where that is another one, in UTC. */
export function exactTip(atMs: number): string {
  const zone = formatZone(atMs);
  const utc = `${formatInstant(atMs, "utc")} UTC`;
  return zone === "UTC+00:00" ? utc : `${formatInstant(atMs)} ${zone}\n${utc}`;
}

/** From one instant to another, or until now. */
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
