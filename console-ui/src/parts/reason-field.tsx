/** The reason that every audited action needs, with a few suggestions to start from. */
import type { JSX } from "preact";

const REASON_MAX = 1_000;

interface Props {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly suggestions: readonly string[];
  readonly hint?: string | undefined;
}

export function ReasonField({ value, onInput, suggestions, hint }: Props): JSX.Element {
  return (
    <div class="label">
      <label for="reason">Reason</label>
      <textarea
        id="reason"
        class="field"
        rows={2}
        maxLength={REASON_MAX}
        required
        autofocus
        value={value}
        placeholder={hint ?? "Why? (shown in the audit log)"}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <div class="suggest">
        {suggestions.map((text) => (
          <button key={text} type="button" class="btn" data-size="s" onClick={() => onInput(text)}>
            {text}
          </button>
        ))}
      </div>
    </div>
  );
}
