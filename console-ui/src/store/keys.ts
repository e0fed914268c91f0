/**
 * Keyboard shortcuts: single keys (`j`, `/`, `?`) and sequences that begin with `g`. A component adds its own while it is
 * shown; none fires while the reader types.
 */
import { useEffect } from "preact/hooks";

export type Keys = Readonly<Record<string, () => void>>;

const layers: Keys[] = [];
let inSequence = false;
let sequenceTimer: ReturnType<typeof setTimeout> | undefined;

export function useKeys(keys: Keys): void {
  useEffect(() => {
    layers.push(keys);
    return () => {
      layers.splice(layers.indexOf(keys), 1);
    };
  }, [keys]);
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    if (run("ctrl-k")) event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (run("Escape")) event.preventDefault();
    return;
  }
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  const name = inSequence ? `g ${event.key}` : event.key;
  endSequence();
  if (name === "g") {
    inSequence = true;
    sequenceTimer = setTimeout(endSequence, 1_500);
  } else if (run(name)) {
    event.preventDefault();
  }
}

function run(name: string): boolean {
  for (const layer of layers.toReversed()) {
    const action = layer[name];
    if (action) {
      action();
      return true;
    }
  }
  return false;
}

function endSequence(): void {
  inSequence = false;
  clearTimeout(sequenceTimer);
}

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input, textarea, select");
}

document.addEventListener("keydown", onKey);

/** Moves the focus along the elements marked as rows: Enter opens one, as with any link. */
export function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  if (rows.length === 0) return;
  const at = rows.findIndex((row) => row === document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}

export function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>("[data-search]");
  field?.focus();
  field?.select();
}
