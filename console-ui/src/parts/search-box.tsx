/** A search field that follows the address: typing filters the page, Esc clears it. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { route, setQuery } from "../store/route.ts";
import { Icon } from "./icon.tsx";

interface Props {
  readonly label: string;
  readonly placeholder: string;
  /** Which part of the address it writes. */
  readonly param?: string;
}

const PAUSE_MS = 220;

export function SearchBox({ label, placeholder, param = "q" }: Props): JSX.Element {
  const written = route.value.query.get(param) ?? "";
  const [text, setText] = useState(written);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const mine = useRef(written);
  useEffect(() => {
    if (written !== mine.current) setText(written);
    mine.current = written;
  }, [written]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const write = (value: string, pauseMs: number): void => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      mine.current = value.trim();
      setQuery({ [param]: value.trim() || undefined });
    }, pauseMs);
  };
  return (
    <label class="search">
      <span class="sr">{label}</span>
      <Icon name="search" />
      <input
        type="search"
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        maxLength={200}
        data-search
        onInput={(event) => write(event.currentTarget.value, PAUSE_MS)}
        onKeyDown={(event) => {
          if (event.key === "Enter") write(text, 0);
          if (event.key !== "Escape") return;
          event.preventDefault();
          if (text === "") event.currentTarget.blur();
          else write("", 0);
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
}
