/** How much of something is done, as a bar and in numbers. */
import type { JSX } from "preact";
import { formatCount } from "../store/format.ts";

interface Props {
  readonly done: number;
  readonly total: number;
  /** What is measured, for readers of the page who do not see the bar. */
  readonly label: string;
}

export function ProgressBar({ done, total, label }: Props): JSX.Element {
  const share = total > 0 ? Math.min(1, Math.max(0, done / total)) : 0;
  return (
    <div class="progress">
      <progress value={share} max={1} aria-label={label} />
      <span class="num dim">
        {formatCount(done)} of {formatCount(total)}
      </span>
    </div>
  );
}
