/** Jump to a section by its name, or to a saga by its id, name, state or input. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { SagaPage } from "../../../src/console/contract.ts";
import { get } from "../store/api.ts";
import { panel } from "../store/panels.ts";
import { availableSections } from "../store/sections.ts";
import { navigate, hrefOf } from "../store/route.ts";
import { hasPart } from "../store/session.ts";
import { lookOf, sagaLooks } from "../store/states.ts";
import { Dialog } from "./dialog.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { State } from "./state.tsx";

interface Choice {
  readonly key: string;
  readonly href: string;
  readonly word: string;
  readonly icon: IconName;
  readonly aside: JSX.Element | undefined;
}

const PAUSE_MS = 160;

export function Palette(): JSX.Element {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const found = useMemo(() => signal<readonly Choice[]>([]), []);
  useEffect(() => {
    found.value = [];
    const query = text.trim();
    if (query === "" || !hasPart("sagas")) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      void get<SagaPage>(`sagas?limit=6&q=${encodeURIComponent(query)}`, abort.signal).then(
        ({ items }) =>
          (found.value = items.map(({ id, saga, status }) => ({
            key: `saga ${id}`,
            href: hrefOf(["sagas", id]),
            word: `${saga}  ${id}`,
            icon: "sagas",
            aside: <State look={lookOf(sagaLooks, status)} />,
          }))),
        () => undefined,
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);

  const choices = [...sectionsFor(text), ...found.value];
  const at = Math.min(chosen, choices.length - 1);
  const close = (): void => {
    panel.value = undefined;
  };
  const open = (choice: Choice | undefined): void => {
    if (!choice) return;
    close();
    navigate(choice.href);
  };
  return (
    <Dialog title="Jump to" onClose={close} class="palette" bare>
      <label class="search">
        <span class="sr">Search pages and sagas</span>
        <Icon name="search" />
        <input
          type="text"
          list={undefined}
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={choices[at] ? `palette-${at}` : undefined}
          autofocus
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          value={text}
          placeholder="Jump to a page, id or name, or field:value"
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={(event) => {
            const move = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
            if (move !== 0) {
              event.preventDefault();
              setChosen((at + move + choices.length) % Math.max(1, choices.length));
            } else if (event.key === "Enter") {
              event.preventDefault();
              open(choices[at]);
            }
          }}
        />
      </label>
      <ul id="palette-list" role="listbox" aria-label="Results">
        {choices.map((choice, index) => (
          <li
            key={choice.key}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => open(choice)}
            onPointerMove={() => setChosen(index)}
          >
            <Icon name={choice.icon} />
            <span class="clip">{choice.word}</span>
            {choice.aside}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function sectionsFor(text: string): readonly Choice[] {
  const wanted = text.trim().toLowerCase();
  return availableSections()
    .filter(({ word }) => word.toLowerCase().includes(wanted))
    .map(({ name, word, icon, key }) => ({
      key: `section ${name}`,
      href: hrefOf([name]),
      word,
      icon,
      aside: (
        <span class="nowrap" aria-hidden="true">
          <kbd>g</kbd> <kbd>{key}</kbd>
        </span>
      ),
    }));
}
