/** The actions that the server says a thing allows, as buttons; for whoever may only read, what is missing. */
import type { JSX } from "preact";
import { openAction, specOf, type Target } from "../store/actions.ts";
import { has } from "../store/session.ts";
import { Icon } from "./icon.tsx";

interface Props {
  readonly target: Target;
  readonly actions: readonly string[];
  readonly small?: boolean;
  readonly onDone?: (answer: unknown) => void;
}

export function ActionButtons({ target, actions, small = false, onDone }: Props): JSX.Element {
  const may = has("operate");
  return (
    <>
      {actions.map((action, index) => {
        const spec = specOf(target.kind, action);
        if (!spec) return null;
        const kind = spec.danger ? "danger" : index === 0 ? "primary" : undefined;
        return (
          <button
            key={action}
            type="button"
            class="btn above"
            data-size={small ? "s" : undefined}
            data-kind={kind}
            data-action={action}
            disabled={!may}
            data-tip={may ? undefined : "You may look, but not act: this needs the role operate."}
            onClick={() => openAction(target, action, onDone)}
          >
            <Icon name={spec.icon} size={small ? 12 : 14} />
            {spec.verb}
          </button>
        );
      })}
    </>
  );
}
