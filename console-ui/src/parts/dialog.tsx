/** A dialog of the browser's own: it holds the focus, closes with Esc and gives the focus back. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly class?: string;
  /** The title is said, not shown. */
  readonly bare?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, class: extra, bare = false, children }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    const before = document.activeElement;
    current?.showModal();
    return () => {
      current?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={extra}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      {!bare && (
        <div class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="btn-icon" aria-label="Close" onClick={onClose}>
            <Icon name="cross" />
          </button>
        </div>
      )}
      {children}
    </dialog>
  );
}
