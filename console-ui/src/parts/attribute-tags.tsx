/** The attributes of a saga as small tags, each of which leads to the sagas that have it too; and the filters that are set so. */
import type { JSX } from "preact";
import type { SagaLine } from "../../../src/console/contract.ts";
import { hrefOf, route, setQuery } from "../store/route.ts";
import { Icon } from "./icon.tsx";

type Value = SagaLine["attributes"][string];

/** A text that reads as itself: neither as a number nor as the end of a pair. */
const PLAIN = /^(?!(?:true|false|null)$)[A-Za-z][\w.@:/ -]*(?<! )$/u;

function pairOf(name: string, value: Value): string {
  return `${name}=${typeof value === "string" && PLAIN.test(value) ? value : JSON.stringify(value)}`;
}

export function AttributeTags({
  attributes,
}: {
  readonly attributes: SagaLine["attributes"];
}): JSX.Element | null {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return null;
  return (
    <div class="tag-list">
      {entries.map(([name, value]) => (
        <a
          key={name}
          class="tag above"
          href={hrefOf(["sagas"], [["attributes", pairOf(name, value)]])}
          data-tip={`Sagas with ${name}: ${String(value)}`}
        >
          <span class="dim">{name}</span> {String(value)}
        </a>
      ))}
    </div>
  );
}

const FILTERS = [
  ["attributes", "Attributes"],
  ["error", "Error"],
] as const;

/** What the list is narrowed to beside the search and the states, to be taken back. */
export function MarkFilters(): JSX.Element | null {
  const { query } = route.value;
  const set = FILTERS.filter(([param]) => query.has(param));
  if (set.length === 0) return null;
  return (
    <div class="chips" role="group" aria-label="Filters">
      {set.map(([param, word]) => (
        <button
          key={param}
          type="button"
          class="chip"
          aria-pressed="true"
          aria-label={`Remove the filter ${word}: ${query.get(param) ?? ""}`}
          onClick={() => setQuery({ [param]: undefined })}
        >
          {word}: <code>{query.get(param)}</code>
          <Icon name="cross" size={10} />
        </button>
      ))}
    </div>
  );
}
