/** Refuses unknown options, and a transaction that is undefined: neither a misspelt option nor a lost one counts as missing. */
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

/**
 * The transaction of a call's options; undefined if it was left out. A `tx` that is there and undefined is a mistake of
 * the caller: the call would commit by itself, whatever becomes of the caller's transaction.
 */
export function givenTransaction<Tx>(options: { readonly tx?: Tx }, where: string): Tx | undefined {
  if (options.tx === undefined && "tx" in options) {
    throw new AmendsError(
      "NEEDS_TRANSACTION",
      `${where}: \`tx\` is undefined. Pass your open transaction, or leave \`tx\` out to write outside of a transaction.`,
    );
  }
  return options.tx;
}
