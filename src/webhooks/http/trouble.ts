/** Maps what the platform or the HTTP client threw to the error code of the attempt. */

import type { ErrorCode } from "../../core/delivery/error-code.ts";

export class Trouble extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode) {
    super(code);
    this.name = "Trouble";
    this.code = code;
  }
}

const CODES: Readonly<Record<string, ErrorCode>> = {
  ECONNREFUSED: "connect_refused",
  ECONNRESET: "connection_lost",
  ECONNABORTED: "connection_lost",
  EPIPE: "connection_lost",
  UND_ERR_SOCKET: "connection_lost",
  UND_ERR_HEADERS_OVERFLOW: "headers_too_large",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "response_invalid",
  UND_ERR_INVALID_ARG: "request_invalid",
  UND_ERR_DESTROYED: "closed",
  UND_ERR_CLOSED: "closed",
};

/** The label of an error that the platform or the HTTP client threw. */
export function troubleCode(thrown: unknown): ErrorCode {
  if (thrown instanceof Trouble) return thrown.code;
  if (!(thrown instanceof Error)) return "send_failed";
  if (thrown.name === "HTTPParserError") return "response_invalid";
  const { code } = thrown as { code?: unknown };
  return (typeof code === "string" && CODES[code]) || "send_failed";
}
