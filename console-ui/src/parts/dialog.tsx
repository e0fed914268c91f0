/** The browser's own dialog: it holds the focus, closes with Esc and gives the focus back. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly class?: string;
  /** The title is read by a screen reader, not shown. */
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
      const target = before instanceof HTMLElement && before.isConnected ? before : undefined;
      (target ?? document.querySelector<HTMLElement>("#main"))?.focus({ preventScroll: true });
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
