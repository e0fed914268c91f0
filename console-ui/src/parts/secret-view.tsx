/** A masked value, and the button that reveals it to operators with the role. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Json, Masked } from "../../../src/console/contract.ts";
import { toApiError, type ApiError } from "../store/api.ts";
import { hide, reveal, revealedOf, requestedReveal, requestReveal, type Secret } from "../store/reveal.ts";
import { has } from "../store/session.ts";
import { showToast } from "../store/toast.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { JsonView, ShapeView } from "./json-view.tsx";
import { ReasonField } from "./reason-field.tsx";

interface Props {
  readonly secret: Secret;
  readonly masked: Masked;
  /** Where the value is in the answer: `["results", "charge"]`. */
  readonly path: readonly string[];
}

export function SecretView({ secret, masked, path }: Props): JSX.Element {
  const fields = revealedOf(secret);
  const value = fields && dig(fields, path);
  return value === undefined ? <ShapeView shape={masked.shape} /> : <JsonView value={value} />;
}

function dig(fields: Readonly<Record<string, Json>>, path: readonly string[]): Json | undefined {
  let value: Json | undefined = fields;
  for (const name of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const holder = value as Readonly<Record<string, Json>>;
    value = Object.hasOwn(holder, name) ? holder[name] : undefined;
  }
  return value;
}

export function RevealButton({ secret }: { readonly secret: Secret }): JSX.Element {
  if (!has("reveal")) {
    return (
      <span class="tag" data-tip="Values may be personal data. Showing them needs the role reveal.">
        <Icon name="lock" size={12} />
        Masked
      </span>
    );
  }
  const open = revealedOf(secret) !== undefined;
  return (
    <button
      type="button"
      class="btn"
      data-size="s"
      aria-pressed={open}
      onClick={() => (open ? hide(secret) : requestReveal(secret))}
    >
      <Icon name={open ? "lock" : "eye"} size={13} />
      {open ? "Hide" : "Reveal"}
    </button>
  );
}

export function RevealDialog(): JSX.Element | null {
  const { value } = requestedReveal;
  return value ? <ActionForm key={value.id} secret={value} /> : null;
}

function ActionForm({ secret }: { readonly secret: Secret }): JSX.Element {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiError | undefined>(undefined);
  const close = (): void => requestReveal(undefined);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      await reveal(secret, reason.trim());
      showToast("good", "Shown until you leave this page. Viewing was logged.");
    } catch (error) {
      setFailure(toApiError(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Reveal stored values" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (reason.trim() !== "" && !busy) void submit();
        }}
      >
        <div class="dialog-body">
          <p>Stored values may be personal data. Viewing is logged with your reason.</p>
          <ReasonField
            value={reason}
            onInput={setReason}
            suggestions={["Investigating a failure", "The customer asked for it"]}
          />
          {failure && (
            <p class="form-error" role="alert">
              <Icon name="alert" />
              <span>{failure.message}</span>
            </p>
          )}
        </div>
        <div class="dialog-foot">
          <button type="button" class="btn" data-kind="plain" onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            class="btn"
            data-kind="primary"
            disabled={reason.trim() === "" || busy}
            aria-busy={busy}
          >
            <Icon name="eye" size={14} />
            Reveal
          </button>
        </div>
      </form>
    </Dialog>
  );
}
