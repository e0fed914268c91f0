/**
 * Keeps the focus in a list whose item disappears under it: after an action the item leaves the list, or loses its
 * buttons, and the browser would put the focus back to the top of the page. The item that takes its place gets it.
 */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

interface Place {
  readonly key: string;
  readonly index: number;
}

/** Each item has its key in `data-item` and a link or button marked with `data-row`. */
export function useKeptFocus(list: RefObject<HTMLElement | null>, items: unknown): void {
  const last = useRef<Place | undefined>(undefined);
  useEffect(() => {
    const onFocus = (event: FocusEvent): void => {
      const { target } = event;
      if (!(target instanceof Element) || target.closest("dialog")) return;
      // A dialog whose item left the list meanwhile gives the focus to the page: the next item takes it.
      if (target.id === "main" && last.current) {
        restore(list.current, last.current);
        return;
      }
      const index = itemsIn(list.current).findIndex((item) => item.contains(target));
      const key = itemsIn(list.current)[index]?.dataset["item"];
      last.current = key === undefined ? undefined : { key, index };
    };
    // A click beside the list takes the focus away on purpose; a click in a dialog belongs to the action.
    const onPointer = ({ target }: Event): void => {
      const isInside = target instanceof Node && list.current?.contains(target) === true;
      if (!isInside && !(target instanceof Element && target.closest("dialog"))) last.current = undefined;
    };
    document.addEventListener("focusin", onFocus);
    document.addEventListener("pointerdown", onPointer);
    return () => {
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("pointerdown", onPointer);
    };
  }, []);
  useLayoutEffect(() => {
    const { current } = last;
    const active = document.activeElement;
    if (!current || (active !== null && active !== document.body) || document.querySelector("dialog[open]"))
      return;
    if (!restore(list.current, current)) {
      last.current = undefined;
      document.querySelector<HTMLElement>("#main")?.focus({ preventScroll: true });
    }
  }, [items]);
}

/** Focuses the item, or the one that took its place. False if the list has none. */
function restore(list: HTMLElement | null, { key, index }: Place): boolean {
  const all = itemsIn(list);
  const same = all.find((item) => item.dataset["item"] === key);
  const next = same ?? all[Math.min(index, all.length - 1)];
  const target = next?.querySelector<HTMLElement>("[data-row]");
  target?.focus();
  return target instanceof HTMLElement;
}

function itemsIn(list: HTMLElement | null): readonly HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>("[data-item]") ?? [])];
}
