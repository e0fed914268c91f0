/**
 * Prepared statements are named by a hash of their text. A counter would give two processes the same name for different
 * texts: where a pooler hands one the session of the other, the wrong statement would run.
 */
import { createHash } from "node:crypto";

export function statementName(text: string): string {
  return `amends_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}
