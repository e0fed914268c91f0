/** The actions that the server allows on an item, as buttons. An operator without the role sees them disabled. */
import type { JSX } from "preact";
import { openAction, specOf, type Target } from "../store/actions.ts";
import { has } from "../store/session.ts";
import { Icon } from "./icon.tsx";

interface Props {
  readonly target: Target;
  /** The one that helps comes first. */
  readonly actions: readonly string[];
  readonly small?: boolean;
  /** None of them is what helps: they are just possible. */
  readonly quiet?: boolean;
  readonly onDone?: (answer: unknown) => void;
}

export function ActionButtons({ target, actions, small = false, quiet = false, onDone }: Props): JSX.Element {
  const isAllowed = has("operate");
  return (
    <>
      {actions.map((action, index) => {
        const spec = specOf(target, action);
        if (!spec) return null;
        // The first of several is the recommended one. The only one is just possible, such as to cancel a saga that runs.
        const isFirst = !quiet && index === 0 && (actions.length > 1 || !spec.danger);
        const kind = spec.danger ? (isFirst ? "danger-primary" : "danger") : isFirst ? "primary" : undefined;
        return (
          <button
            key={action}
            type="button"
            class="btn above"
            data-size={small ? "s" : undefined}
            data-kind={kind}
            data-action={action}
            disabled={!isAllowed}
            data-tip={isAllowed ? undefined : "Read only: acting needs the role operate."}
            onClick={() => openAction(target, action, onDone)}
          >
            <Icon name={spec.icon} size={small ? 12 : 14} />
            {spec.label}
          </button>
        );
      })}
    </>
  );
}
