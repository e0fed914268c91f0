/** Refuses unknown options: a misspelt option must not count as missing. */
import { AmendsError } from "./errors.ts";

export function refuseUnknown(given: unknown, known: readonly string[], where: string): void {
  if (typeof given !== "object" || given === null) {
    throw new AmendsError("BAD_OPTION", `${where} needs an object with its options.`);
  }
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw new AmendsError(
    "BAD_OPTION",
    `${where}: there is no option named ${unknown}. There are: ${known.join(", ")}.`,
  );
}

/** For functions without arguments: JavaScript would silently ignore an option. */
export function refuseArguments(given: readonly unknown[], where: string): void {
  if (given.length > 0) throw new AmendsError("BAD_OPTION", `${where} takes no options.`);
}
