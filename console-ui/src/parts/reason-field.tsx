/** Why somebody does what they do: asked for by everything that is audited, with a few words to start from. */
import type { JSX } from "preact";

const REASON_MAX = 1_000;

interface Props {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly suggestions: readonly string[];
}

export function ReasonField({ value, onInput, suggestions }: Props): JSX.Element {
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
        placeholder="Why you do this. Whoever reads the audit log will thank you."
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
