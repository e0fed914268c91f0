/** A state as a pill. */
import type { JSX } from "preact";
import type { Look } from "../store/states.ts";
import { Icon } from "./icon.tsx";

export function State({ look }: { readonly look: Look }): JSX.Element {
  return (
    <span class="state" data-tone={look.tone} data-tip={look.meaning}>
      {look.icon ? <Icon name={look.icon} size={12} /> : <span class="state-pulse" />}
      {look.word}
    </span>
  );
}
