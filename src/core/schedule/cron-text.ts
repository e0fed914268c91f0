/**
 * A cron text has five fields, or is one of the usual nicknames. A sixth field is refused: some programs read it as seconds in
 * front, others as a year at the end, and a schedule that starts a durable saga every second is not what a schedule is for.
 */
import { AmendsError } from "../errors.ts";

const NICKNAMES = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
const LENGTH_MAX = 255;
const FIELDS = 5;

/** The text with single spaces. `where` names the schedule. */
export function checkCronText(text: unknown, where: string): string {
  const refuse = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: \`cron\` ${why}`, { field: "cron" });
  };
  if (typeof text !== "string" || text.trim() === "")
    return refuse('must be a text such as "0 3 * * *" (minute, hour, day of month, month, day of week).');
  const fields = text.trim().split(/\s+/);
  const joined = fields.join(" ");
  if (joined.length > LENGTH_MAX) return refuse(`must have at most ${LENGTH_MAX} characters.`);
  if (NICKNAMES.includes(joined.toLowerCase())) return joined.toLowerCase();
  if (joined.startsWith("@"))
    return refuse(`has an unknown name, ${joined}. There are: ${NICKNAMES.join(", ")}.`);
  if (fields.length === FIELDS) return joined;
  const seconds = fields.length === 6 ? " Seconds and years are not supported." : "";
  return refuse(
    `must have five fields (minute, hour, day of month, month, day of week), and "${joined}" has ${fields.length}.${seconds}`,
  );
}
