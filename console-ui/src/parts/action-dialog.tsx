/** Asks for the reason of an action, and for what else it needs, and carries it out. A refusal stays on the screen. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Json } from "../../../src/console/contract.ts";
import {
  closeAction,
  labelOf,
  openedAction,
  pathOf,
  specOf,
  touches,
  type OpenedAction,
} from "../store/actions.ts";
import { post, toApiError, type ApiError } from "../store/api.ts";
import { announce } from "../store/follow.ts";
import { invalidateNow } from "../store/live.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { ReasonField } from "./reason-field.tsx";

export function ActionDialog(): JSX.Element | null {
  const { value } = openedAction;
  return value ? <ActionForm key={`${value.target.id} ${value.action}`} {...value} /> : null;
}

function ActionForm({ target, action, spec: opened, onDone }: OpenedAction): JSX.Element {
  const [reason, setReason] = useState("");
  const [step, setStep] = useState(target.skippable?.[0] ?? "");
  // Title and explanation name the step that is chosen.
  const spec = opened.asks === "undo" ? (specOf({ ...target, skippable: [step] }, action) ?? opened) : opened;
  const [result, setResult] = useState("");
  const [outcome, setOutcome] = useState<"COMPLETED" | "FAILED" | "">("");
  const [since, setSince] = useState(() => localMinute(Date.now() - 3_600_000));
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiError | undefined>(undefined);
  const parsed = readResult(result);
  const asksStep = spec.asks === "step" || spec.asks === "undo";
  const ready =
    reason.trim() !== "" &&
    (spec.asks !== "outcome" || outcome !== "") &&
    (!asksStep || (step !== "" && parsed.ok)) &&
    (spec.asks !== "since" || !Number.isNaN(Date.parse(since)));

  const submit = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      const answer = await post<unknown>(`${pathOf(target.kind, target.id)}/${action}`, {
        reason: reason.trim(),
        ...(target.revision !== undefined && { revision: target.revision }),
        ...(asksStep && { step }),
        ...(spec.asks === "step" && parsed.value !== undefined && { result: parsed.value }),
        ...(spec.asks === "outcome" && { as: outcome }),
        ...(spec.asks === "since" && { since: new Date(since).toISOString() }),
        ...spec.body,
      });
      closeAction();
      announce(target, spec.started, answer);
      invalidateNow(...touches[target.kind]);
      onDone?.(answer);
    } catch (error) {
      setFailure(toApiError(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={spec.title} onClose={closeAction}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && !busy) void submit();
        }}
      >
        <div class="dialog-body">
          <p class="dialog-target">
            <span class="tag mono">{labelOf(target)}</span>{" "}
            {target.kind !== "saga" && target.id !== target.name && <span class="mono dim">{target.id}</span>}
          </p>
          {target.reason !== undefined && <p class="dim sentence">{target.reason}.</p>}
          <p>{spec.explain}</p>
          {asksStep && (
            <StepField
              label={spec.asks === "undo" ? "Undo of step" : "Step"}
              steps={target.skippable ?? []}
              step={step}
              onStep={setStep}
            />
          )}
          {spec.asks === "step" && <ResultField result={result} onResult={setResult} isBad={!parsed.ok} />}
          {spec.asks === "outcome" && <OutcomeField value={outcome} onChange={setOutcome} />}
          {spec.asks === "since" && (
            <label class="label">
              Since
              <input
                class="field"
                type="datetime-local"
                value={since}
                onInput={(event) => setSince(event.currentTarget.value)}
              />
            </label>
          )}
          <ReasonField value={reason} onInput={setReason} suggestions={spec.reasons} hint={spec.reasonHint} />
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
          <button type="button" class="btn" data-kind="plain" onClick={closeAction}>
            {action === "cancel" ? "Close" : "Cancel"}
          </button>
          <button
            type="submit"
            class="btn"
            data-kind={spec.danger ? "danger" : "primary"}
            disabled={!ready || busy}
            aria-busy={busy}
          >
            <Icon name={spec.icon} size={14} />
            {action === "cancel" ? "Cancel the saga" : spec.label}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface StepProps {
  readonly label: string;
  readonly steps: readonly string[];
  readonly step: string;
  readonly onStep: (step: string) => void;
}

function StepField({ label, steps, step, onStep }: StepProps): JSX.Element {
  return (
    <label class="label">
      {label}
      <select class="select" value={step} onChange={(event) => onStep(event.currentTarget.value)}>
        {steps.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface ResultProps {
  readonly result: string;
  readonly onResult: (text: string) => void;
  readonly isBad: boolean;
}

function ResultField({ result, onResult, isBad }: ResultProps): JSX.Element {
  return (
    <label class="label">
      Result of the step, for the steps after it
      <input
        class="field mono"
        value={result}
        placeholder='Optional JSON: { "id": "r-1" }'
        spellcheck={false}
        aria-invalid={isBad}
        onInput={(event) => onResult(event.currentTarget.value)}
      />
      {isBad && <small>Not valid JSON.</small>}
    </label>
  );
}

export function OutcomeField({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: "COMPLETED" | "FAILED") => void;
}): JSX.Element {
  const outcomes = [
    ["COMPLETED", "Completed", "All effects are in place."],
    ["FAILED", "Rolled back", "All effects are reverted."],
  ] as const;
  return (
    <fieldset class="choices">
      <legend>What is the real outcome?</legend>
      {outcomes.map(([outcome, word, meaning]) => (
        <label key={outcome} class="choice">
          <input
            type="radio"
            name="outcome"
            value={outcome}
            checked={value === outcome}
            onChange={() => onChange(outcome)}
          />
          <span>
            <strong>{word}</strong>
            <small>{meaning}</small>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function readResult(text: string): { readonly ok: boolean; readonly value?: Json } {
  if (text.trim() === "") return { ok: true };
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch {
    return { ok: false };
  }
}

/** As `datetime-local` wants it, in the reader's time zone. */
function localMinute(atMs: number): string {
  const at = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return at.toISOString().slice(0, 16);
}
