/** Filters, one of which holds. Where the figures are known they stand beside the words. */
import type { JSX } from "preact";
import { place, refine } from "../store/route.ts";
import type { Look } from "../store/states.ts";
import { countWord } from "../store/words.ts";
import type { Count } from "../../../src/console/contract.ts";

interface Props {
  readonly label: string;
  readonly looks: Readonly<Record<string, Look>>;
  readonly counts?: Readonly<Record<string, Count>> | null | undefined;
  readonly param?: string;
}

export function Chips({ label, looks, counts, param = "status" }: Props): JSX.Element {
  const chosen = place.value.query.get(param) ?? "";
  return (
    <div class="chips" role="group" aria-label={label}>
      <button
        type="button"
        class="chip"
        aria-pressed={chosen === ""}
        onClick={() => refine({ [param]: undefined })}
      >
        All
      </button>
      {Object.entries(looks).map(([status, { word, tone, means }]) => {
        const count = counts?.[status];
        return (
          <button
            key={status}
            type="button"
            class="chip"
            data-tone={tone}
            data-tip={means}
            aria-pressed={chosen === status}
            onClick={() => refine({ [param]: chosen === status ? undefined : status })}
          >
            <span class="chip-dot" />
            {word}
            {count && <span class="num">{`${countWord(count.value)}${count.exact ? "" : "+"}`}</span>}
          </button>
        );
      })}
    </div>
  );
}
