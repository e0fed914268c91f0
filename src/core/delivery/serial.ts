/** Serial numbers of the database as texts: they may exceed the safe integers of JavaScript. */
import { AmendsError } from "../errors.ts";

export function isSerial(id: unknown): id is string {
  return typeof id === "string" && /^[1-9]\d{0,17}$/.test(id);
}

export function checkSerial(id: unknown, what: string): string {
  if (isSerial(id)) return id;
  throw new AmendsError("BAD_ID", `The id of ${what} is a text of digits, as Amends gave it out.`, {
    field: "id",
  });
}
