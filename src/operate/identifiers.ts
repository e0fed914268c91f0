/** Where ids come from: the only randomness of the library. */
import { randomBytes } from "node:crypto";
import { uuidv7 } from "uuidv7";

/** Sorts by the time it was made. */
export function newId(): string {
  return uuidv7();
}

/** Names one start of one process. */
export function newOwner(): string {
  return randomBytes(9).toString("base64url");
}
