/**
 * A session is a signed cookie with the operator, the token and the expiry, so that processes with the same `secret`
 * share sessions. Every request with a session asks two things that no cookie can answer: whether the token is still
 * configured, and whether the session was ended. A sign-out is an operator action on record in the database, so that it
 * holds in every process and after a restart.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Role } from "../contract.ts";
import { ROLES, type Operator } from "./operator.ts";
import { hostOf } from "../http/origin.ts";
import type { Access } from "../http/route.ts";
import type { Admitted } from "./tokens.ts";

export interface SignedIn extends Operator {
  readonly id: string;
  readonly untilMs: number;
  /** The token that began the session; null for an invitation. */
  readonly tokenId: string | null;
}

export interface CookiePlace {
  readonly secure: boolean;
  /** Where the console is mounted. */
  readonly path: string;
}

export interface SessionStore {
  /** The operator of a token as it is configured now; undefined if the token is gone. */
  operatorOf(tokenId: string): Operator | undefined;
  isEnded(session: SignedIn): Promise<boolean>;
  recordEnd(session: SignedIn): Promise<void>;
}

export class Sessions {
  readonly #key: Buffer;
  readonly #lifeMs: number;
  readonly #nowMs: () => number;
  readonly #store: SessionStore;

  constructor(secret: string | undefined, lifeMs: number, nowMs: () => number, store: SessionStore) {
    this.#key = createHmac("sha256", secret ?? randomBytes(32))
      .update("amends console session")
      .digest();
    this.#lifeMs = lifeMs;
    this.#nowMs = nowMs;
    this.#store = store;
  }

  begin({ operator, tokenId }: Admitted): SignedIn {
    const id = randomBytes(12).toString("base64url");
    return { ...operator, id, untilMs: this.#nowMs() + this.#lifeMs, tokenId };
  }

  /** Ends the session in every process. Rejects if that cannot be recorded. */
  async end(session: SignedIn): Promise<void> {
    if (!(await this.#store.isEnded(session))) await this.#store.recordEnd(session);
  }

  /**
   * The session of a request, unless it was ended. Rejects if the database does not answer. Open routes answer
   * without the database: there such a session counts as ended.
   */
  async current(request: Request, secure: boolean, access: Access): Promise<SignedIn | undefined> {
    const session = this.read(request, secure);
    if (!session) return undefined;
    const asked = this.#store.isEnded(session);
    const isEnded = await (access === "open" ? asked.catch(() => true) : asked);
    return isEnded ? undefined : session;
  }

  /** False once the session has expired, was ended, or has lost its token. */
  async isCurrent(session: SignedIn): Promise<boolean> {
    return this.#isLive(session) && !(await this.#store.isEnded(session));
  }

  /**
   * The session in the request's cookie; undefined if the cookie is missing, expired or not signed by us, or if its
   * token is gone. The session may have been ended.
   */
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
    const { name, roles, id, untilMs, tokenId } = session;
    const content = Buffer.from(JSON.stringify([name, roles, id, untilMs, tokenId])).toString("base64url");
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
    const [content = "", signature = "", ...more] = value.split(".");
    if (more.length > 0) return undefined;
    const given = Buffer.from(signature, "base64url");
    const right = this.#sign(content);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    const [name, roles, id, untilMs, tokenId] = JSON.parse(Buffer.from(content, "base64url").toString()) as [
      string,
      Role[],
      string,
      number,
      string | null,
    ];
    const session = { name, roles: ROLES.filter((role) => roles.includes(role)), id, untilMs, tokenId };
    if (!this.#isLive(session)) return undefined;
    // Name and roles are those of the token as it is configured now.
    return tokenId === null ? session : { ...session, ...this.#store.operatorOf(tokenId) };
  }

  #isLive({ untilMs, tokenId }: SignedIn): boolean {
    return untilMs > this.#nowMs() && (tokenId === null || this.#store.operatorOf(tokenId) !== undefined);
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
