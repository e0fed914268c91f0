/**
 * Why an attempt to deliver a webhook failed: a label that is stored, counted and shown. The texts of a receiver, a
 * certificate or a library are never stored.
 */

/** Every code but `http_<status>`, with what it means. The guide's table of codes has the same rows. */
export const ERROR_CODES = {
  // The receiver answered.
  redirect: "The receiver answered with a redirect (3xx). Redirects are not followed.",
  gone: "The receiver answered 410 Gone. Its subscription is disabled.",
  headers_too_large: "The headers of the response are too large.",
  response_invalid: "The response is not valid HTTP.",
  // The request got no response.
  address_refused: "The address is in a private or reserved range.",
  dns_failed: "The name of the host has no address.",
  connect_timeout: "The connection was not made in time.",
  connect_refused: "The receiver refused the connection.",
  connect_failed: "The connection failed for another reason.",
  tls_failed: "The TLS handshake failed, or the certificate is not valid for the host.",
  connection_lost: "The connection ended before the response.",
  timeout: "The response did not arrive in time.",
  aborted: "The worker stopped the request.",
  closed: "The worker had closed its connections.",
  send_failed: "Sending failed for another reason.",
  // No request was sent.
  url_invalid: "The URL is not a plain absolute URL.",
  scheme_refused: "The scheme of the URL is not allowed. Plain http needs `allowHttp`.",
  credentials_refused: "The URL contains a user name or a password.",
  port_refused: "The port of the URL is not allowed. `allowPorts` lists the ports.",
  request_invalid: "The request cannot be sent: its URL or one of its headers is not valid.",
  secret_unreadable: "The secret of the subscription cannot be decrypted.",
  subscription_deleted: "The subscription was deleted.",
  subscription_disabled: "The subscription is disabled.",
  // The result is not known.
  lease_expired: "The workers that had the job were lost. The request may have been sent.",
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The code of an HTTP status, such as `http_503`. */
export type StatusCode = `http_${number}`;
