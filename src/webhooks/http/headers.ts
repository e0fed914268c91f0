/** Headers that users add to their webhooks: anything but what frames, routes or signs the request. */
import { AmendsError } from "../../core/errors.ts";

const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]{0,4096}$/;
const RESERVED =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer|accept-encoding|proxy-.*|webhook-.*)$/;

/** With names in lower case; refuses what must not be set, or could end the header and begin something else. */
export function readHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [checked(name), line(name, value)]),
  );
}

function checked(given: string): string {
  const name = given.toLowerCase();
  if (!NAME.test(name)) throw refused("a header's name is not one that HTTP allows");
  if (RESERVED.test(name)) throw refused(`the header ${name} is set by Amends itself`);
  return name;
}

function line(name: string, value: unknown): string {
  if (typeof value === "string" && VALUE.test(value)) return value;
  throw refused(`the header ${name.toLowerCase()} must be one line of at most 4096 characters`);
}

function refused(why: string): AmendsError {
  return new AmendsError("BAD_INPUT", `The webhook's headers are not allowed: ${why}.`);
}
