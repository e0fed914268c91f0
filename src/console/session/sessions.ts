/**
 * A session is a signed cookie with the operator and the expiry: it needs no store, and processes with the same
 * `secret` share sessions. This process remembers a sign-out until the session would have expired.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Role } from "../contract.ts";
import { ROLES, type Operator } from "./operator.ts";
import { hostOf } from "../http/origin.ts";

export interface SignedIn extends Operator {
  readonly id: string;
  readonly untilMs: number;
}

export interface CookiePlace {
  readonly secure: boolean;
  /** Where the console is mounted. */
  readonly path: string;
}

const ENDED_MAX = 10_000;

export class Sessions {
  readonly #key: Buffer;
  readonly #lifeMs: number;
  readonly #nowMs: () => number;
  readonly #ended = new Set<string>();

  constructor(secret: string | undefined, lifeMs: number, nowMs: () => number) {
    this.#key = createHmac("sha256", secret ?? randomBytes(32))
      .update("amends console session")
      .digest();
    this.#lifeMs = lifeMs;
    this.#nowMs = nowMs;
  }

  begin({ name, roles }: Operator): SignedIn {
    return { name, roles, id: randomBytes(12).toString("base64url"), untilMs: this.#nowMs() + this.#lifeMs };
  }

  end({ id }: SignedIn): void {
    this.#ended.add(id);
    const [oldest] = this.#ended;
    if (this.#ended.size > ENDED_MAX && oldest !== undefined) this.#ended.delete(oldest);
  }

  /** The operator in the request's cookie; undefined if the cookie is missing, expired or not signed by us. */
  read(request: Request, secure: boolean): SignedIn | undefined {
    const wanted = cookieName(request, secure);
    const cookies = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
    for (const pair of cookies) {
      if (!pair.startsWith(`${wanted}=`)) continue;
      const session = this.#open(pair.slice(wanted.length + 1));
      if (session) return session;
    }
    return undefined;
  }

  cookie(session: SignedIn, request: Request, place: CookiePlace): string {
    const { name, roles, id, untilMs } = session;
    const content = Buffer.from(JSON.stringify([name, roles, id, untilMs])).toString("base64url");
    const seconds = Math.ceil((untilMs - this.#nowMs()) / 1_000);
    return this.#write(request, place, `${content}.${this.#sign(content).toString("base64url")}`, seconds);
  }

  clearing(request: Request, place: CookiePlace): string {
    return this.#write(request, place, "", 0);
  }

  /** `__Host-` binds the cookie to exactly this host, and asks for the path to be the root. */
  #write(request: Request, { secure, path }: CookiePlace, value: string, seconds: number): string {
    const where = secure ? "Path=/; Secure" : `Path=${path}`;
    return `${cookieName(request, secure)}=${value}; ${where}; HttpOnly; SameSite=Strict; Max-Age=${seconds}`;
  }

  #open(value: string): SignedIn | undefined {
    const [content = "", signature = ""] = value.split(".");
    const given = Buffer.from(signature, "base64url");
    const right = this.#sign(content);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    const [name, roles, id, untilMs] = JSON.parse(Buffer.from(content, "base64url").toString()) as [
      string,
      Role[],
      string,
      number,
    ];
    if (untilMs <= this.#nowMs() || this.#ended.has(id)) return undefined;
    return { name, roles: ROLES.filter((role) => roles.includes(role)), id, untilMs };
  }

  #sign(content: string): Buffer {
    return createHmac("sha256", this.#key).update(content).digest();
  }
}

/** Cookies do not tell ports apart: two consoles on one machine would sign one another out. */
function cookieName(request: Request, secure: boolean): string {
  if (secure) return "__Host-amends";
  const port = /:(\d+)$/.exec(hostOf(request))?.[1];
  return port === undefined ? "amends" : `amends_${port}`;
}
