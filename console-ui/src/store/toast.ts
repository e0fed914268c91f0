/** Short words about what just happened: said to a screen reader, too, and gone by themselves. */
import { signal, type ReadonlySignal } from "@preact/signals";

export interface Toast {
  readonly id: number;
  readonly tone: "good" | "bad";
  readonly text: string;
}

const SHOWN_MS = 6_000;
let lastId = 0;
const list = signal<readonly Toast[]>([]);
export const toasts: ReadonlySignal<readonly Toast[]> = list;

export function showToast(tone: Toast["tone"], text: string): void {
  const id = ++lastId;
  list.value = [...list.value.slice(-2), { id, tone, text }];
  setTimeout(() => closeToast(id), SHOWN_MS);
}

export function closeToast(id: number): void {
  list.value = list.value.filter((toast) => toast.id !== id);
}
