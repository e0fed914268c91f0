/** Where ids come from. */
import { uuidv7 } from "uuidv7";

/** Sorts by the time it was made. */
export function newId(): string {
  return uuidv7();
}
