/** Where the names of processes come from. */
import { randomBytes } from "node:crypto";

/** Names one start of one process. */
export function newOwner(): string {
  return randomBytes(9).toString("base64url");
}
