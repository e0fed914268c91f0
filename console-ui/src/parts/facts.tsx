/** Names and their values, in two columns. */
import type { ComponentChildren, JSX } from "preact";

export function Facts({
  rows,
}: {
  readonly rows: readonly (readonly [string, ComponentChildren])[];
}): JSX.Element {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
