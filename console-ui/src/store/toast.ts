/** Short messages about what just happened. A screen reader reads them, and they close by themselves. */
import { signal, type ReadonlySignal } from "@preact/signals";

export interface Toast {
  readonly id: number;
  /** `busy`: its outcome is not known yet, so it stays. */
  readonly tone: "good" | "bad" | "busy";
  readonly text: string;
  /** Where the item is that it speaks of. */
  readonly href: string | undefined;
}

const SHOWN_MS = 7_000;
const SHOWN_MAX = 3;
let lastId = 0;
const list = signal<readonly Toast[]>([]);
const timers = new Map<number, ReturnType<typeof setTimeout>>();
export const toasts: ReadonlySignal<readonly Toast[]> = list;

/** Returns its id, for `updateToast`. */
export function showToast(tone: Toast["tone"], text: string, href?: string): number {
  const id = ++lastId;
  list.value = [...list.value.slice(1 - SHOWN_MAX), { id, tone, text, href }];
  closeLater(id, tone);
  return id;
}

/** The outcome of what a toast announced. One that was closed meanwhile comes back only if the outcome is bad. */
export function updateToast(id: number, tone: Toast["tone"], text: string, href: string | undefined): void {
  const isShown = list.value.some((toast) => toast.id === id);
  if (!isShown && tone === "good") return;
  if (!isShown) return void showToast(tone, text, href);
  list.value = list.value.map((toast) => (toast.id === id ? { id, tone, text, href } : toast));
  closeLater(id, tone);
}

export function closeToast(id: number): void {
  clearTimeout(timers.get(id));
  timers.delete(id);
  list.value = list.value.filter((toast) => toast.id !== id);
}

function closeLater(id: number, tone: Toast["tone"]): void {
  clearTimeout(timers.get(id));
  if (tone !== "busy")
    timers.set(
      id,
      setTimeout(() => closeToast(id), SHOWN_MS),
    );
}
