/**
 * One request and its reply. Redirects are not followed, the body is read up to a limit, and no error contains the
 * ref, the URL or the body.
 */
import { errorLabel, RetryLater } from "../core/errors.ts";
import { limitedCall, type CallLimits } from "./limited-call.ts";

/** The reply of an outside system. */
export interface HttpReply {
  /** The HTTP status. */
  readonly status: number;
  /** The response headers. */
  readonly headers: Headers;
  /** The parsed body; undefined if the body is not JSON or longer than `replyMaxBytes`. */
  readonly json: unknown;
}

export interface Outgoing {
  readonly url: URL;
  readonly method: string;
  readonly headers: () => Promise<Headers>;
  readonly body: string | URLSearchParams | undefined;
}

export interface ExchangeLimits extends CallLimits {
  readonly fetch: (...given: Parameters<typeof globalThis.fetch>) => Promise<Response>;
  readonly replyMaxBytes: number;
}

/** Certificate error codes of the platform: they say more than "unreachable". */
const CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

export function exchange(
  outgoing: Outgoing,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<HttpReply> {
  return limitedCall(limits, signal, async (ending) => {
    const headers = await outgoing.headers();
    const response = await unlessUnreachable(() =>
      limits.fetch(outgoing.url, {
        method: outgoing.method,
        headers,
        redirect: "manual",
        signal: ending,
        ...(outgoing.body === undefined ? {} : { body: outgoing.body }),
      }),
    );
    const text = await unlessUnreachable(() => textOf(response, limits.replyMaxBytes));
    return { status: response.status, headers: response.headers, json: parsed(text) };
  });
}

/** Reads the body to its end, up to the limit, so that the connection can be reused. */
async function textOf(response: Response, maxBytes: number): Promise<string | undefined> {
  if (!response.body) return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string | undefined): unknown {
  if (!text) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** An error of fetch may quote the URL, which may contain personal data: only its label is kept. */
async function unlessUnreachable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const cause = (thrown as { cause?: unknown } | undefined)?.cause;
    const label = errorLabel(cause, CERTIFICATE_CODES);
    const code = /^[A-Z0-9_]+$/.test(label) ? label : "http-unreachable";
    throw new RetryLater(code, `The request failed without a complete response (${code}).`);
  }
}
