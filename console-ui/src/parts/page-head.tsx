import type { ComponentChildren, JSX } from "preact";
import { Icon } from "./icon.tsx";

interface Props {
  readonly title: ComponentChildren;
  readonly children?: ComponentChildren;
  /** The list that the item belongs to. */
  readonly from?: { readonly href: string; readonly word: string };
  readonly actions?: ComponentChildren;
}

export function PageHead({ title, children, from, actions }: Props): JSX.Element {
  return (
    <header class="page-head">
      <div>
        {from && (
          <nav class="crumbs" aria-label="Breadcrumb">
            <Icon name="back" size={10} />
            <a href={from.href}>{from.word}</a>
          </nav>
        )}
        <h1>{title}</h1>
        {children}
      </div>
      {actions && <div class="row-actions">{actions}</div>}
    </header>
  );
}
