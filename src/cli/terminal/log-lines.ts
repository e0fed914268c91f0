/** The library's log as lines: as text, or as JSON for log collectors. */
import type { Logger } from "../../operate/log/logger.ts";
import { ink, joined, paint, type Colour } from "./ink.ts";
import type { Output } from "./output.ts";
import type { World } from "../program/world.ts";
import { FAILED_TRY } from "../../runtime/failed-tries.ts";

const COLOURS: Readonly<Record<keyof Logger, Colour>> = { info: "dim", warn: "yellow", error: "red" };

/** `tellsThrows`: failed tries are printed with their stacks (throw-lines.ts), and not a second time here. */
export function logLines(output: Output, world: World, tellsThrows: boolean = false): Logger {
  const line =
    (level: keyof Logger): Logger["info"] =>
    (fields, message) => {
      if (tellsThrows && message === FAILED_TRY) return;
      const at = new Date(world.nowMs()).toISOString();
      if (output.isJson) return output.event({ at, level, message, ...fields });
      const pairs = Object.entries(fields)
        .filter(([, value]) => value !== undefined)
        .map(
          ([name, value]) =>
            ink`${paint("dim", `${name}=`)}${typeof value === "string" ? value : JSON.stringify(value)}`,
        );
      output.say(
        ink`${paint("dim", at.slice(11, 19))} ${paint(COLOURS[level], message.replace(/^amends: /, ""))} ${joined(pairs, " ")}`,
      );
    };
  return { info: line("info"), warn: line("warn"), error: line("error") };
}
