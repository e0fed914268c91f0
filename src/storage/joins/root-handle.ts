/** The error for a `tx` that is not an open transaction, such as the client's root handle. It shows the line that is right. */
import { AmendsError } from "../../core/errors.ts";

/** `line` shows how a transaction of the client is passed. */
export function notTransaction(client: string, line: string): AmendsError {
  return new AmendsError(
    "NEEDS_TRANSACTION",
    `\`tx\` is not an open transaction of ${client}, so each statement would commit by itself. Nothing was written. Pass the transaction: \`${line}\`.`,
  );
}
