/** Asks for the reason of an action, and for what else it needs, and carries it out. A refusal stays on the screen. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Json } from "../../../src/console/contract.ts";
import { actionPath, asked, closeAsked, touches, type Asked } from "../store/actions.ts";
import { asTrouble, post, type Trouble } from "../store/api.ts";
import { outdated } from "../store/live.ts";
import { say } from "../store/toast.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { ReasonField } from "./reason-field.tsx";

export function ActionDialog(): JSX.Element | null {
  const { value } = asked;
  return value ? <Asking key={`${value.target.id} ${value.action}`} {...value} /> : null;
}

function Asking({ target, action, spec, onDone }: Asked): JSX.Element {
  const [reason, setReason] = useState("");
  const [step, setStep] = useState(target.skippable?.[0] ?? "");
  const [result, setResult] = useState("");
  const [ending, setEnding] = useState<"COMPLETED" | "FAILED" | "">("");
  const [since, setSince] = useState(() => localMinute(Date.now() - 3_600_000));
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const parsed = readResult(result);
  const ready =
    reason.trim() !== "" &&
    (spec.asks !== "ending" || ending !== "") &&
    (spec.asks !== "step" || (step !== "" && parsed.ok)) &&
    (spec.asks !== "since" || !Number.isNaN(Date.parse(since)));

  const submit = async (): Promise<void> => {
    setBusy(true);
    setTrouble(undefined);
    try {
      const answer = await post<unknown>(actionPath(target, action), {
        reason: reason.trim(),
        ...(target.revision !== undefined && { revision: target.revision }),
        ...(spec.asks === "step" && { step, ...(parsed.value !== undefined && { result: parsed.value }) }),
        ...(spec.asks === "ending" && { as: ending }),
        ...(spec.asks === "since" && { since: new Date(since).toISOString() }),
      });
      closeAsked();
      say("good", spec.done);
      outdated(...touches[target.kind]);
      onDone?.(answer);
    } catch (error) {
      setTrouble(asTrouble(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={spec.title} onClose={closeAsked}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && !busy) void submit();
        }}
      >
        <div class="dialog-body">
          <p class="dialog-target">
            <span class="tag mono">{target.name}</span> <span class="mono dim">{target.id}</span>
          </p>
          <p>{spec.explain}</p>
          {spec.asks === "step" && (
            <StepFields
              steps={target.skippable ?? []}
              step={step}
              onStep={setStep}
              result={result}
              onResult={setResult}
              bad={!parsed.ok}
            />
          )}
          {spec.asks === "ending" && <EndingField value={ending} onChange={setEnding} />}
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
          <ReasonField value={reason} onInput={setReason} suggestions={spec.reasons} />
          {trouble && (
            <p class="form-error" role="alert">
              <Icon name="alert" />
              <span>
                {trouble.message} <span class="mono">{trouble.code}</span>
              </span>
            </p>
          )}
        </div>
        <div class="dialog-foot">
          <button type="button" class="btn" data-kind="plain" onClick={closeAsked}>
            Keep it as it is
          </button>
          <button
            type="submit"
            class="btn"
            data-kind={spec.danger ? "danger" : "primary"}
            disabled={!ready || busy}
            aria-busy={busy}
          >
            <Icon name={spec.icon} size={14} />
            {spec.verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface StepProps {
  readonly steps: readonly string[];
  readonly step: string;
  readonly onStep: (step: string) => void;
  readonly result: string;
  readonly onResult: (text: string) => void;
  readonly bad: boolean;
}

function StepFields({ steps, step, onStep, result, onResult, bad }: StepProps): JSX.Element {
  return (
    <>
      <label class="label">
        Step
        <select class="select" value={step} onChange={(event) => onStep(event.currentTarget.value)}>
          {steps.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="label">
        Its result, for the steps after it
        <input
          class="field mono"
          value={result}
          placeholder='Optional, as JSON: { "id": "r-1" }'
          spellcheck={false}
          aria-invalid={bad}
          onInput={(event) => onResult(event.currentTarget.value)}
        />
        {bad && <small>This is not JSON yet.</small>}
      </label>
    </>
  );
}

function EndingField({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: "COMPLETED" | "FAILED") => void;
}): JSX.Element {
  const endings = [
    ["COMPLETED", "Completed", "Everything it stands for has happened."],
    ["FAILED", "Failed, undone", "Nothing of it is left in any system."],
  ] as const;
  return (
    <fieldset class="choices">
      <legend>How has it really ended?</legend>
      {endings.map(([ending, word, means]) => (
        <label key={ending} class="choice">
          <input
            type="radio"
            name="ending"
            value={ending}
            checked={value === ending}
            onChange={() => onChange(ending)}
          />
          <span>
            <strong>{word}</strong>
            <small>{means}</small>
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

/** As `datetime-local` wants it, in the reader's zone. */
function localMinute(atMs: number): string {
  const at = new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000);
  return at.toISOString().slice(0, 16);
}
