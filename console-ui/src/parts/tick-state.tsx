/** What became of a tick: a pill, the state of its saga, and when. */
import type { JSX } from "preact";
import type { ScheduleTick } from "../../../src/console/contract-parts.ts";
import { lookOf, sagaLooks, tickLooks } from "../store/states.ts";
import { State } from "./state.tsx";
import { Time } from "./time.tsx";

export function TickState({ tick }: { readonly tick: ScheduleTick }): JSX.Element {
  return (
    <span class="tick-state">
      <State look={lookOfTick(tick)} />
      <Time at={tick.until ?? tick.at} class="dim" />
    </span>
  );
}

/** Of a tick that started, the state of its saga says more. */
export function lookOfTick({ outcome, sagaStatus }: ScheduleTick): ReturnType<typeof lookOf> {
  return outcome === "started" && sagaStatus !== null
    ? lookOf(sagaLooks, sagaStatus)
    : lookOf(tickLooks, outcome);
}
