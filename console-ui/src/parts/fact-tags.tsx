/** Scalars with their names, as small tags. */
import type { JSX } from "preact";

interface Props {
  readonly facts: Readonly<Record<string, string | number | boolean | null>>;
}

export function FactTags({ facts }: Props): JSX.Element | null {
  const entries = Object.entries(facts);
  if (entries.length === 0) return null;
  return (
    <div class="tag-list">
      {entries.map(([name, value]) => (
        <span key={name} class="tag" data-tip={`${name}: ${String(value)}`}>
          <span class="dim">{name}</span> {String(value)}
        </span>
      ))}
    </div>
  );
}
