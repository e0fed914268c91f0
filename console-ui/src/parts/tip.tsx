/** One tooltip for every element with a `data-tip`: on hover, by a tap and on focus, inside the window. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

const shown = signal<{ readonly text: string; readonly box: DOMRect } | undefined>(undefined);

function show(event: Event): void {
  const target = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
  const text = target?.getAttribute("data-tip");
  if (target && text) shown.value = { text, box: target.getBoundingClientRect() };
  else if (shown.value) shown.value = undefined;
}

document.addEventListener("pointerover", show);
document.addEventListener("focusin", show);
document.addEventListener("scroll", () => (shown.value = undefined), { capture: true, passive: true });
addEventListener("hashchange", () => (shown.value = undefined));

const MARGIN = 8;

export function Tip(): JSX.Element | null {
  const bubble = useRef<HTMLDivElement>(null);
  const tip = shown.value;
  useLayoutEffect(() => {
    const { current } = bubble;
    if (!current || !tip) return;
    const { offsetWidth: width, offsetHeight: height } = current;
    const left = tip.box.left + tip.box.width / 2 - width / 2;
    const above = tip.box.top - height - 6;
    current.style.left = `${Math.max(MARGIN, Math.min(left, innerWidth - width - MARGIN))}px`;
    current.style.top = `${above < MARGIN ? tip.box.bottom + 6 : above}px`;
  }, [tip]);
  return tip ? (
    <div class="tip" ref={bubble} aria-hidden="true">
      {tip.text}
    </div>
  ) : null;
}
