/** Who may call what. The order is the point: the Host, then who it is, then where the request comes from, then the role. */
import type { ConsoleOptions } from "../options.ts";
import { Refused } from "../http/answer.ts";
import { checkOperator, type Operator } from "./operator.ts";
import type { Origins } from "../http/origin.ts";
import type { Access } from "../http/route.ts";
import type { Sessions, SignedIn } from "./sessions.ts";
import type { Tokens } from "./tokens.ts";

export interface Visitor {
  readonly operator: Operator;
  /** Set where a cookie of ours says so. */
  readonly session: SignedIn | undefined;
  /** The browser sent something by itself: then a page of another site may be behind it. */
  readonly ambient: boolean;
}

export interface GuardTools {
  readonly origins: Origins;
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly authorize: ConsoleOptions["authorize"];
}

const BEARER = /^Bearer ([\x21-\x7e]{1,1000})$/i;

export class Guard {
  readonly #tools: GuardTools;

  constructor(tools: GuardTools) {
    this.#tools = tools;
  }

  /** The operator of a request whose Host was checked; undefined if nobody is signed in. */
  async identify(request: Request, caller: string, access: Access): Promise<Visitor | undefined> {
    const { origins, tokens, sessions, authorize } = this.#tools;
    const header = request.headers.get("authorization");
    const bearer = header === null ? undefined : BEARER.exec(header)?.[1];
    if (bearer !== undefined && !authorize) {
      return { operator: tokens.admit(bearer, caller, false).operator, session: undefined, ambient: false };
    }
    const session = await sessions.current(request, origins.isSecure(request), access);
    if (session) return { operator: session, session, ambient: true };
    const own = await authorize?.(request);
    if (!own) return undefined;
    return { operator: checkOperator(own, "authorize"), session: undefined, ambient: bearer === undefined };
  }

  check(request: Request, access: Access, visitor: Visitor | undefined): void {
    if (request.method !== "GET" && request.method !== "HEAD") {
      this.#tools.origins.checkWrite(request, visitor?.ambient ?? false);
    }
    if (access === "open") return;
    if (!visitor) throw new Refused(401, { code: "SIGN_IN", message: "Sign in first." }, CHALLENGE);
    if (visitor.operator.roles.includes(access)) return;
    throw new Refused(403, { code: "ROLE_MISSING", message: `This needs the role ${access}.` });
  }
}

const CHALLENGE = { "www-authenticate": 'Bearer realm="amends"' };
