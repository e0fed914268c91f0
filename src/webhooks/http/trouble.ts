/** Why a request got no response, as labels. Texts of a peer, a certificate or a library are not stored. */

export type TroubleCode =
  | "address_refused"
  | "dns_failed"
  | "connect_timeout"
  | "connect_refused"
  | "connect_failed"
  | "tls_failed"
  | "connection_lost"
  | "timeout"
  | "aborted"
  | "headers_too_large"
  | "response_invalid"
  | "request_invalid"
  | "closed"
  | "send_failed";

export class Trouble extends Error {
  readonly code: TroubleCode;

  constructor(code: TroubleCode) {
    super(code);
    this.name = "Trouble";
    this.code = code;
  }
}

const CODES: Readonly<Record<string, TroubleCode>> = {
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
export function troubleCode(thrown: unknown): TroubleCode {
  if (thrown instanceof Trouble) return thrown.code;
  if (!(thrown instanceof Error)) return "send_failed";
  if (thrown.name === "HTTPParserError") return "response_invalid";
  const { code } = thrown as { code?: unknown };
  return (typeof code === "string" && CODES[code]) || "send_failed";
}
