import type { JSX } from "preact";
import { closeToast, toasts } from "../store/toast.ts";
import { Icon } from "./icon.tsx";

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, tone, text }) => (
        <div key={id} class="toast" data-tone={tone === "good" ? "sea" : "rose"}>
          <Icon name={tone === "good" ? "check" : "alert"} />
          <span>{text}</span>
          <button type="button" class="btn-icon" aria-label="Dismiss" onClick={() => closeToast(id)}>
            <Icon name="cross" size={12} />
          </button>
        </div>
      ))}
    </div>
  );
}
