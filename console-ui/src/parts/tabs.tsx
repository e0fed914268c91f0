/** Views of one section, as links: each has its own address. */
import type { JSX } from "preact";

interface Props {
  readonly label: string;
  readonly tabs: readonly { readonly href: string; readonly word: string; readonly on: boolean }[];
}

export function Tabs({ label, tabs }: Props): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ href, word, on }) => (
        <a key={href} href={href} aria-current={on ? "page" : undefined}>
          {word}
        </a>
      ))}
    </nav>
  );
}
