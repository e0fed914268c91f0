/** A run in miniature: one segment per step, in the colour of what became of it all. */
import type { JSX } from "preact";
import type { SagaStatus } from "../../../src/console/contract.ts";
import { timesWord } from "../store/words.ts";
import { lookOf, sagaLooks } from "../store/states.ts";

const SHOWN_MAX = 16;

export function Strip({
  steps,
  status,
}: {
  readonly steps: readonly string[];
  readonly status: SagaStatus;
}): JSX.Element {
  const { tone, icon } = lookOf(sagaLooks, status);
  return (
    <span class="strip above" data-tip={steps.join("  →  ")}>
      {steps.slice(0, SHOWN_MAX).map((step) => (
        <i
          key={step}
          data-tone={status === "PENDING" ? undefined : tone}
          data-state={status === "FAILED" ? "undone" : undefined}
          data-live={icon === undefined}
        />
      ))}
      <span class="sr">{timesWord(steps.length, "step", "steps")}</span>
    </span>
  );
}
