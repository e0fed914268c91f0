/** Filters of which one is active, with counts where they are known. */
import type { JSX } from "preact";
import { route, setQuery } from "../store/route.ts";
import type { Look } from "../store/states.ts";
import { formatCount } from "../store/format.ts";
import type { Count } from "../../../src/console/contract.ts";

interface Props {
  readonly label: string;
  readonly looks: Readonly<Record<string, Look>>;
  readonly counts?: Readonly<Record<string, Count>> | null | undefined;
  readonly param?: string;
}

export function Chips({ label, looks, counts, param = "status" }: Props): JSX.Element {
  const chosen = route.value.query.get(param) ?? "";
  return (
    <div class="chips" role="group" aria-label={label}>
      <button
        type="button"
        class="chip"
        aria-pressed={chosen === ""}
        onClick={() => setQuery({ [param]: undefined })}
      >
        All
      </button>
      {Object.entries(looks).map(([status, { word, tone, meaning }]) => {
        const count = counts?.[status];
        return (
          <button
            key={status}
            type="button"
            class="chip"
            data-tone={tone}
            data-tip={meaning}
            aria-pressed={chosen === status}
            onClick={() => setQuery({ [param]: chosen === status ? undefined : status })}
          >
            <span class="chip-dot" />
            {word}
            {count && <span class="num">{`${formatCount(count.value)}${count.exact ? "" : "+"}`}</span>}
          </button>
        );
      })}
    </div>
  );
}
