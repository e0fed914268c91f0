/**
 * Errors of the developer's code, with their stacks and the time of the next try: in `amends dev`, and elsewhere only
 * with AMENDS_DEBUG. Logs get labels, because messages may contain personal data.
 */
import { onFailedTry, type FailedTry } from "../../runtime/failed-tries.ts";
import { ink, paint } from "./ink.ts";
import type { Output } from "./output.ts";
import { stackText } from "./stack.ts";
import { span } from "./words.ts";
import type { World } from "../program/world.ts";

/** Returns how to stop. */
export function tellThrows(output: Output, world: World): () => void {
  return onFailedTry((thrown) => {
    const at = new Date(world.nowMs()).toISOString();
    const { error, waitMs, ...rest } = thrown;
    const stack = error === undefined ? thrown.label : stackText(error);
    if (output.isJson) return output.event({ type: "throw", at, ...rest, nextTryMs: waitMs ?? null, stack });
    const next = waitMs === undefined ? "it is not tried again" : `the next try is in ${span(waitMs)}`;
    output.say(
      ink`${paint("dim", at.slice(11, 19))} ${paint("red", `${wordOf(thrown)} ${error === undefined ? "failed" : "threw"}`)} ${paint("dim", `${idOf(thrown)}, try ${thrown.attempt}:`)} ${next}`,
    );
    for (const line of stack.split("\n")) output.say(ink`         ${line}`);
  });
}

function wordOf({ part, name, step, isUndo }: FailedTry): string {
  return part === "saga"
    ? `${name}: ${isUndo === true ? "the undo" : "the act"} of ${step}`
    : `${part} ${name}`;
}

function idOf({ part, id }: FailedTry): string {
  return part === "saga" ? `saga ${id}` : `entry ${id}`;
}
