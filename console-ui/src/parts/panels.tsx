/** The panels over a page. */
import type { JSX } from "preact";
import { panel } from "../store/panels.ts";
import { availableSections } from "../store/sections.ts";
import { hrefOf } from "../store/route.ts";
import { sessionState } from "../store/session.ts";
import { cycleTimes, timeStyle, timeStyleWords } from "../store/times.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { SignOut } from "./sign-out.tsx";
import { Palette } from "./palette.tsx";
import { MODIFIER } from "./modifier.ts";

const close = (): void => {
  panel.value = undefined;
};

export function Panels(): JSX.Element | null {
  const open = panel.value;
  if (open === "palette") return <Palette />;
  if (open === "keys") return <KeysPanel />;
  if (open === "menu") return <MenuPanel />;
  return null;
}

const keys: readonly (readonly [string, readonly string[]])[] = [
  ["Search this page", ["/"]],
  ["Next row", ["j"]],
  ["Previous row", ["k"]],
  ["Open the row", ["Enter"]],
  ["Back to the list", ["u"]],
  ["Show newer rows", ["r"]],
  ["Jump to a page, id or name", [MODIFIER, "K"]],
  ["Times: relative, local, UTC", ["z"]],
  ["Theme: light, dark, system", ["t"]],
  ["Close", ["Esc"]],
  ["Shortcuts", ["?"]],
];

function KeysPanel(): JSX.Element {
  const rows = [
    ...keys,
    ...availableSections().map(({ word, key }) => [`Go to ${word}`, ["g", key]] as const),
  ];
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <div class="dialog-body">
        <dl class="shortcuts">
          {rows.map(([word, stroke]) => (
            <div key={word}>
              <dt>{word}</dt>
              <dd>
                {stroke.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  );
}

function MenuPanel(): JSX.Element {
  const { value } = sessionState;
  return (
    <Dialog title="Pages" onClose={close} class="menu">
      <div class="dialog-body">
        <nav aria-label="All pages">
          {availableSections().map(({ name, word, icon }) => (
            <a key={name} class="rail-link" href={hrefOf([name])} onClick={close}>
              <Icon name={icon} />
              <span>{word}</span>
            </a>
          ))}
        </nav>
        <button type="button" class="rail-link menu-switch" onClick={cycleTimes}>
          <Icon name="clock" />
          <span>Times: {timeStyleWords[timeStyle.value]}</span>
        </button>
        {value.state === "in" && (
          <p class="dim">
            Signed in as {value.session.name}. <SignOut />
          </p>
        )}
      </div>
    </Dialog>
  );
}
