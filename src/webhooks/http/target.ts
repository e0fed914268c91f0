/**
 * Parses and checks the URL of a webhook. It uses the platform's URL parser, so that the check and the connection read
 * the URL alike. Literal IP addresses are checked here, because they are not resolved later.
 */
import { isIP } from "node:net";
import { AmendsError } from "../../core/errors.ts";
import { mayCall, type OpenNetworks } from "./address.ts";
import type { ErrorCode } from "../../core/delivery/error-code.ts";

export interface TargetPolicy {
  readonly http: boolean;
  readonly ports: ReadonlySet<number> | "any";
  readonly open: OpenNetworks;
}

export interface Target {
  /** Scheme, name and port. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
}

/** They are stored as error codes of attempts, too: a URL was allowed once, and the policy has changed since. */
export type TargetRefusal = Extract<
  ErrorCode,
  "url_invalid" | "scheme_refused" | "credentials_refused" | "port_refused" | "address_refused"
>;

const URL_MAX = 2_048;

/** URL parsers drop or convert these characters, so that a person reads another address than the machine does. */
const MISLEADING = /[\s\\\p{Cc}\p{Cf}]/u;

export function readTarget(text: unknown, policy: TargetPolicy): Target | TargetRefusal {
  if (typeof text !== "string" || text.length > URL_MAX || MISLEADING.test(text) || !URL.canParse(text)) {
    return "url_invalid";
  }
  const url = new URL(text);
  if (url.protocol !== "https:" && !(policy.http && url.protocol === "http:")) return "scheme_refused";
  // "https:example.org" and "https:/example.org" are read as if the slashes were there.
  if (!/^https?:\/\/[^/]/i.test(text) || text.includes("#") || url.hostname === "") return "url_invalid";
  if (url.username !== "" || url.password !== "" || authority(text).includes("@"))
    return "credentials_refused";
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  if (policy.ports !== "any" && !policy.ports.has(port)) return "port_refused";
  const host = bare(url.hostname);
  if (isIP(host) !== 0 && !mayCall(host, policy.open)) return "address_refused";
  return { origin: url.origin, path: `${url.pathname}${url.search}` };
}

/** A name, or an address without its brackets. */
export function bare(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

function authority(text: string): string {
  return text.split(/[/?]/, 3)[2] ?? "";
}

const REASONS: Readonly<Record<TargetRefusal, string>> = {
  url_invalid: "is not a plain absolute URL (no spaces, backslashes or fragment, at most 2048 characters)",
  scheme_refused:
    "must begin with https://. Plain http is allowed by `webhooks: { sending: { allowHttp: true } }`",
  credentials_refused: "must not contain a user name or a password. Webhooks are signed instead",
  port_refused:
    "uses a port that is not allowed. Ports other than 443 and 8443 are allowed by `webhooks: { sending: { allowPorts: [3000] } }`",
  address_refused:
    'names an address that is not public. Allow private networks with `webhooks: { sending: { allowNetworks: ["127.0.0.1"] } }`',
};

export function targetError(refusal: TargetRefusal): AmendsError {
  return new AmendsError("BAD_URL", `The webhook's URL ${REASONS[refusal]}.`, { refusal });
}
