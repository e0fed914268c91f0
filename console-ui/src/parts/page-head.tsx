import type { ComponentChildren, JSX } from "preact";
import { Icon } from "./icon.tsx";

interface Props {
  readonly title: ComponentChildren;
  readonly children?: ComponentChildren;
  /** Where one comes from. */
  readonly from?: { readonly href: string; readonly word: string };
  readonly actions?: ComponentChildren;
}

export function PageHead({ title, children, from, actions }: Props): JSX.Element {
  return (
    <header class="page-head">
      <div>
        {from && (
          <nav class="crumbs" aria-label="Breadcrumb">
            <a href={from.href}>{from.word}</a>
            <Icon name="next" size={10} />
          </nav>
        )}
        <h1>{title}</h1>
        {children}
      </div>
      {actions && <div class="row-actions">{actions}</div>}
    </header>
  );
}
