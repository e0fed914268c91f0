/** Gates that open by themselves when their test ends, so that a test that fails leaves no call hanging. */
import { afterEach } from "vitest";
import { gate, type Gate } from "../../sagas/support/gate.ts";

/** To be called inside the suite: its hook must run before the one that stops the workers. */
export function gatekeeper(): <T = void>() => Gate<T> {
  const openings: (() => void)[] = [];
  afterEach(() => {
    for (const open of openings.splice(0)) open();
  });
  return <T = void>() => {
    const made = gate<T>();
    openings.push(() => made.open(undefined as T));
    return made;
  };
}
