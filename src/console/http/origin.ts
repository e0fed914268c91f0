/**
 * Where a request may come from. The Host is checked before anything else: a page whose name was made to point at this
 * machine sends its own name there, and on a plain read nothing but the Host gives it away. Writes must besides come
 * from the console's own page, or from a program that is no browser.
 */
import { AmendsError } from "../../core/errors.ts";
import { Refused } from "./answer.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** A page of another site cannot set it without asking first, and it is never allowed to. */
export const WRITE_HEADER = "x-amends-console";

export class Origins {
  readonly #hosts: Set<string>;
  readonly #origin: URL | undefined;

  /** `hosts` are names, with a port or for any; `origin` is where people find the console, if not at a loopback address. */
  constructor(hosts: readonly string[], origin: string | undefined) {
    this.#origin = origin === undefined ? undefined : readOrigin(origin);
    this.#hosts = new Set([
      ...LOOPBACK,
      ...hosts.map((host) => host.toLowerCase()),
      ...(this.#origin ? [this.#origin.host] : []),
    ]);
  }

  checkHost(request: Request): void {
    if (this.#isOurs(hostOf(request))) return;
    throw new Refused(403, {
      code: "HOST_REFUSED",
      message: "The Host header is not allowed. Add the name to `hosts`, or set `origin`.",
    });
  }

  #isOurs(host: string): boolean {
    const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(host);
    return match !== null && (this.#hosts.has(host) || this.#hosts.has(match[1] as string));
  }

  /** Throws unless this write comes from the console's own page, or from no page at all (then `withCookie` is false). */
  checkWrite(request: Request, withCookie: boolean): void {
    const { headers } = request;
    const site = headers.get("sec-fetch-site");
    const origin = headers.get("origin");
    const isOwnPage =
      site === "same-origin" || (site === null && origin !== null && this.#isOwn(origin, request));
    const isNoPage = !withCookie && (site === null || site === "none") && origin === null;
    if (!isOwnPage && !isNoPage) {
      throw new Refused(403, {
        code: "CROSS_SITE",
        message: "Cross-site requests may not change anything.",
      });
    }
    if (headers.get(WRITE_HEADER) === null) {
      throw new Refused(403, {
        code: "HEADER_MISSING",
        message: `Send the header ${WRITE_HEADER}: 1 with every change.`,
      });
    }
  }

  #isOwn(origin: string, request: Request): boolean {
    if (this.#origin) return origin === this.#origin.origin;
    return origin === `${new URL(request.url).protocol}//${hostOf(request)}`;
  }

  isSecure(request: Request): boolean {
    return (this.#origin ?? new URL(request.url)).protocol === "https:";
  }
}

export function hostOf(request: Request): string {
  return (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
}

function readOrigin(origin: string): URL {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url && ["http:", "https:"].includes(url.protocol) && url.pathname === "/" && url.search === "")
    return url;
  throw new AmendsError("BAD_OPTION", '`origin` must be like "https://ops.example.com", without a path.');
}
