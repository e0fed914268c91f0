/** Starts a bulk action: how many items it takes, and the one reason for all of them. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type {
  BulkAction,
  BulkDetail,
  BulkItemsGiven,
  BulkPreview,
} from "../../../src/console/contract-bulk.ts";
import { post, toApiError, type ApiError } from "../store/api.ts";
import {
  BULK_TOUCHES,
  bulkSpecs,
  closeBulk,
  countWords,
  kindOf,
  openBulk,
  openedBulk,
  type OpenedBulk,
} from "../store/bulk.ts";
import { invalidateNow } from "../store/live.ts";
import { hrefOf, navigate } from "../store/route.ts";
import { has } from "../store/session.ts";
import { OutcomeField } from "./action-dialog.tsx";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { ReasonField } from "./reason-field.tsx";

interface ButtonProps {
  readonly bulk: OpenedBulk;
  /** Why it cannot be used now. */
  readonly why?: string | undefined;
}

/** Opens the dialog. It is disabled without the role, and where the list shows something that no action can take. */
export function BulkButton({ bulk, why }: ButtonProps): JSX.Element {
  const tip = has("operate") ? why : "Read only: acting needs the role operate.";
  return (
    <button
      type="button"
      class="btn"
      data-action="bulk"
      disabled={tip !== undefined}
      data-tip={tip}
      onClick={() => openBulk(bulk)}
    >
      <Icon name="bulk" size={14} />
      Act on all …
    </button>
  );
}

export function BulkDialog(): JSX.Element | null {
  const { value } = openedBulk;
  return value ? <BulkForm {...value} /> : null;
}

function BulkForm({ actions, items }: OpenedBulk): JSX.Element {
  const [action, setAction] = useState<BulkAction>(actions[0] ?? "retry");
  const [reason, setReason] = useState("");
  const [step, setStep] = useState("");
  const [outcome, setOutcome] = useState<"COMPLETED" | "FAILED" | "">("");
  const [preview, setPreview] = useState<BulkPreview | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiError | undefined>(undefined);
  const spec = bulkSpecs[action];
  const given: BulkItemsGiven = {
    ...items,
    action,
    ...(spec.asks === "step" && { step: step.trim() }),
    ...(spec.asks === "outcome" && outcome !== "" && { as: outcome }),
  };
  const isSaid = (spec.asks !== "step" || step.trim() !== "") && (spec.asks !== "outcome" || outcome !== "");
  const text = JSON.stringify(given);

  // What is counted does not depend on the step or the outcome, but the server asks for them.
  useEffect(() => {
    let isOver = false;
    setPreview(undefined);
    setFailure(undefined);
    const asked = {
      ...given,
      ...(spec.asks === "step" && { step: "step" }),
      ...(spec.asks === "outcome" && { as: "FAILED" }),
    };
    post<BulkPreview>("bulk/preview", asked).then(
      (found) => !isOver && setPreview(found),
      (error: unknown) => !isOver && setFailure(toApiError(error)),
    );
    return () => {
      isOver = true;
    };
  }, [action]);

  const submit = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      const { id } = await post<BulkDetail>("bulk", {
        ...(JSON.parse(text) as object),
        reason: reason.trim(),
      });
      closeBulk();
      invalidateNow(...BULK_TOUCHES);
      navigate(hrefOf(["bulk", id]));
    } catch (error) {
      setFailure(toApiError(error));
      setBusy(false);
    }
  };
  const count = preview && countWords(kindOf(action, items), preview.count, preview.exact);
  const ready = reason.trim() !== "" && isSaid && preview !== undefined && preview.count > 0;
  return (
    <Dialog title="Act on all of this list" onClose={closeBulk}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && !busy) void submit();
        }}
      >
        <div class="dialog-body">
          {actions.length > 1 && (
            <label class="label">
              Action
              <select
                class="select"
                value={action}
                onChange={(event) => setAction(event.currentTarget.value as BulkAction)}
              >
                {actions.map((name) => (
                  <option key={name} value={name}>
                    {bulkSpecs[name].label}
                  </option>
                ))}
              </select>
            </label>
          )}
          <p>{spec.explain}</p>
          <p aria-live="polite" data-testid="bulk-count">
            {preview && <strong>{preview.count === 0 ? "Nothing fits this action now." : count}</strong>}
            {preview && preview.sample.length > 0 && (
              <span class="dim clip">
                {" "}
                <code>{preview.sample.join(", ")}</code>
                {preview.count > preview.sample.length ? " …" : ""}
              </span>
            )}
            {!preview && !failure && <span class="dim">Counting …</span>}
          </p>
          {spec.asks === "step" && (
            <label class="label">
              Step
              <input
                class="field mono"
                value={step}
                spellcheck={false}
                placeholder="charge"
                onInput={(event) => setStep(event.currentTarget.value)}
              />
            </label>
          )}
          {spec.asks === "outcome" && <OutcomeField value={outcome} onChange={setOutcome} />}
          <ReasonField value={reason} onInput={setReason} suggestions={spec.reasons} />
          <p class="dim">
            A worker carries it out in the background. Every item is recorded with this reason; items that
            arise from now on are not taken.
          </p>
          {failure && (
            <p class="form-error" role="alert">
              <Icon name="alert" />
              <span>
                {failure.message} <span class="mono">{failure.code}</span>
              </span>
            </p>
          )}
        </div>
        <div class="dialog-foot">
          <button type="button" class="btn" data-kind="plain" onClick={closeBulk}>
            Close
          </button>
          <button
            type="submit"
            class="btn"
            data-kind={spec.danger ? "danger" : "primary"}
            disabled={!ready || busy}
            aria-busy={busy}
          >
            <Icon name={spec.icon} size={14} />
            {count === undefined || preview?.count === 0 ? spec.label : `${spec.label}: ${count}`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
