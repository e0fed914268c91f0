/** An id with a button that copies it. */
import type { JSX } from "preact";
import { showToast } from "../store/toast.ts";
import { Icon } from "./icon.tsx";

export function CopyId({ id, label = "id" }: { readonly id: string; readonly label?: string }): JSX.Element {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(id);
      showToast("good", `Copied the ${label}.`);
    } catch {
      showToast("bad", "The browser does not allow the page to write to the clipboard.");
    }
  };
  return (
    <span class="copy">
      <code>{id}</code>
      <button type="button" class="btn-icon" aria-label={`Copy the ${label}`} onClick={() => void copy()}>
        <Icon name="copy" size={13} />
      </button>
    </span>
  );
}
