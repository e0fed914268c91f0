/** A run in miniature: one segment per step, in the colour of that step's state. */
import type { JSX } from "preact";
import type { StepLine } from "../../../src/console/contract.ts";
import type { Tone } from "../store/states.ts";

const SHOWN_MAX = 16;

type State = NonNullable<StepLine["state"]>;

const looks: Readonly<Record<State, readonly [word: string, tone: Tone | undefined]>> = {
  none: ["not started", undefined],
  running: ["running", "sky"],
  retrying: ["retrying", "copper"],
  done: ["done", "sea"],
  failed: ["failed", "rose"],
  skipped: ["skipped", "stone"],
  undoing: ["undoing", "copper"],
  undone: ["undone", "copper"],
  "undo-failed": ["undo failed", "rose"],
};
const LIVE: ReadonlySet<string> = new Set(["running", "retrying", "undoing"]);

/** An archived saga shows nothing: its list does not know the states of its steps. */
export function StepStrip({ steps }: { readonly steps: readonly StepLine[] }): JSX.Element {
  const known = steps.flatMap(({ name, state }) => (state === null ? [] : [{ name, state }]));
  if (known.length === 0) return <span class="dim">–</span>;
  const words = known.map(({ name, state }) => `${name}: ${looks[state][0]}`);
  return (
    <span class="strip above" data-tip={words.join("\n")}>
      {known.slice(0, SHOWN_MAX).map(({ name, state }) => (
        <i
          key={name}
          data-tone={looks[state][1]}
          data-state={state}
          data-live={LIVE.has(state) ? true : undefined}
        />
      ))}
      <span class="sr">{words.join(", ")}</span>
    </span>
  );
}
