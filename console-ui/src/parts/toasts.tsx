import type { JSX } from "preact";
import { closeToast, toasts, type Toast } from "../store/toast.ts";
import { Icon } from "./icon.tsx";

const tones: Readonly<Record<Toast["tone"], string>> = { good: "sea", bad: "rose", busy: "sky" };

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, tone, text, href }) => (
        <div key={id} class="toast" data-tone={tones[tone]} data-state={tone}>
          {tone === "busy" ? (
            <span class="state-pulse" />
          ) : (
            <Icon name={tone === "good" ? "check" : "alert"} />
          )}
          <span>{text}</span>
          {href !== undefined && (
            <a class="link" href={href}>
              Open
            </a>
          )}
          <button type="button" class="btn-icon" aria-label="Close" onClick={() => closeToast(id)}>
            <Icon name="cross" size={12} />
          </button>
        </div>
      ))}
    </div>
  );
}
