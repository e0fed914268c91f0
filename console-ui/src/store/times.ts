/** How times are shown: relative (`3 m ago`), or exactly, in the reader's time zone or in UTC, to compare with logs. */
import { signal, type ReadonlySignal } from "@preact/signals";

export type TimeStyle = "relative" | "local" | "utc";

const KEY = "amends.times";
const ORDER: readonly TimeStyle[] = ["relative", "local", "utc"];
const chosen = signal<TimeStyle>(stored());

export const timeStyle: ReadonlySignal<TimeStyle> = chosen;

export const timeStyleWords: Readonly<Record<TimeStyle, string>> = {
  relative: "relative",
  local: "local time",
  utc: "UTC",
};

export function cycleTimes(): void {
  chosen.value = ORDER[(ORDER.indexOf(chosen.value) + 1) % ORDER.length] ?? "relative";
  try {
    localStorage.setItem(KEY, chosen.value);
  } catch {
    // The browser may forbid storage; the choice then lasts as long as the page.
  }
}

function stored(): TimeStyle {
  try {
    const value = localStorage.getItem(KEY);
    return ORDER.find((style) => style === value) ?? "relative";
  } catch {
    return "relative";
  }
}
