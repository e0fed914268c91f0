/** Every drawing of the console's own, on a grid of 16: one stroke, round ends. */
import type { JSX } from "preact";

const shapes = {
  overview: "M2 12.5 5.5 8l2.5 2.5L14 3.5M10.5 3.5H14V7",
  attention: "M8 2 14.5 13.5h-13zM8 6.5v3M8 11.6v.1",
  sagas: "M2 5h9m-2.5-2.5L11 5 8.5 7.5M14 5v3.5a2.5 2.5 0 0 1-2.5 2.5H4m2.5 2.5L4 11l2.5-2.5",
  schedules: "M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v3M10.5 2v3M8 8.5v2l1.6 1",
  flows:
    "M4.5 3.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0M14.5 8a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0M4.5 12.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0M4.5 3.5H6A2 2 0 0 1 8 5.5v0A2.5 2.5 0 0 0 10.5 8h1M4.5 12.5H6a2 2 0 0 0 2-2",
  outbox: "M2 9.5h3.5L6.5 11.5h3l1-2H14M2 9.5 4 3h8l2 6.5V13H2zM8 7.5V4.8M6.7 6 8 4.7 9.3 6",
  webhooks:
    "M5.8 7.2A3 3 0 1 1 10.8 4M8 4.5l2.6 4.8A3 3 0 1 1 9 13.3M7.3 11.5H4.8M4.8 11.5A2.8 2.8 0 1 1 3.5 8.7L5.8 7.2",
  erasures: "M6 13.5h8M3 10l6.5-7 4 4L8 13H5.5zM6.2 6.5l4 4",
  bulk: "M2 4.5h6M2 8h6M2 11.5h6M10.5 4.5l1.2 1.2L14 3.4M10.5 8l1.2 1.2L14 6.9M10.5 11.5l1.2 1.2L14 10.4",
  audit: "M4 2h6l3 3v9H4zM10 2v3h3M6.5 8h4M6.5 11h4",
  search: "M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0M10.2 10.2 14 14",
  sun: "M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7",
  moon: "M13.5 9.5A5.8 5.8 0 0 1 6.5 2.5 5.8 5.8 0 1 0 13.5 9.5",
  half: "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0M8 2v12M8 5h3.5M8 8h5.5M8 11h3.5",
  keyboard: "M1.5 4h13v8h-13zM4 6.5h.1M6.6 6.5h.1M9.2 6.5h.1M11.9 6.5h.1M4 9.5h.1M6.5 9.5h3M11.9 9.5h.1",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  alert: "M8 4v5M8 11.8v.1",
  undo: "M6 3.5 2.5 7 6 10.5M2.5 7H10a3 3 0 0 1 0 6H8",
  play: "M5 3.5 12.5 8 5 12.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  clock: "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0M8 4.8V8l2.2 1.6",
  dots: "M4 8h.1M8 8h.1M12 8h.1",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M10 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  next: "M6 3.5 10.5 8 6 12.5",
  back: "M10 3.5 5.5 8l4.5 4.5",
  down: "M3.5 6 8 10.5 12.5 6",
  retry: "M13 3v3.5H9.5M13 6.5A5.5 5.5 0 1 0 13.3 9.5",
  skip: "M3 3.5 9 8l-6 4.5zM12.5 3.5v9",
  stop: "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0M5.5 5.5l5 5M10.5 5.5l-5 5",
  resolve: "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0M5.2 8.2l2 2 3.6-4",
  signal:
    "M8 8h.1M5.5 5.5a3.5 3.5 0 0 0 0 5M10.5 5.5a3.5 3.5 0 0 1 0 5M3.5 3.5a6.4 6.4 0 0 0 0 9M12.5 3.5a6.4 6.4 0 0 1 0 9",
  pivot: "M8 1.5 14.5 8 8 14.5 1.5 8z",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  person: "M10.5 5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0M3 13.5c.5-2.6 2.5-4 5-4s4.5 1.4 5 4",
  offline: "M2 2l12 12M3 6.5c.8-.6 1.6-1 2.5-1.4M13 6.5A9 9 0 0 0 8 4.5M5 9.2c.6-.4 1.3-.7 2-.9M8 12.5h.1",
  lock: "M3.5 7h9v6.5h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2",
} as const;

export type IconName = keyof typeof shapes;

interface Props {
  readonly name: IconName;
  readonly size?: number;
}

export function Icon({ name, size = 16 }: Props): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  );
}

/** The mark: one way forward, one way back. */
export function Mark({ size = 24 }: { readonly size?: number }): JSX.Element {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path class="mark-out" d="M7 12h15m-4-4 4 4-4 4" />
      <path class="mark-back" d="M25 12v4a5 5 0 0 1-5 5H9m4 4-4-4 4-4" />
    </svg>
  );
}
