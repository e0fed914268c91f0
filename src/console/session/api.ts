/** Signing in and out, and who is signed in. */
import type { Session } from "../contract.ts";
import { errorLabel } from "../../core/errors.ts";
import { json, Refused } from "../http/answer.ts";
import { whoOf, type ConsoleContext } from "../context.ts";
import type { Operator } from "./operator.ts";
import type { Origins } from "../http/origin.ts";
import { needed, text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import type { CookiePlace, Sessions, SignedIn } from "./sessions.ts";
import type { Tokens } from "./tokens.ts";

export interface SessionTools {
  readonly context: ConsoleContext;
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly origins: Origins;
  readonly version: string;
  /** Where the console is mounted, for the cookie. */
  mountOf(request: Request): string;
  callerOf(request: Request): string;
}

const NOT_RECORDED = {
  code: "SIGN_OUT_NOT_RECORDED",
  message:
    "This browser is signed out, but the sign-out could not be recorded: a copy of the session cookie works until the session expires.",
};

export function sessionRoutes(tools: SessionTools): readonly Route[] {
  const { context, tokens, sessions, origins } = tools;
  const describe = async (who: Operator, session: SignedIn | undefined): Promise<Session> => ({
    name: who.name,
    roles: who.roles,
    expiresAt: session ? new Date(session.untilMs).toISOString() : null,
    parts: context.parts,
    sagas: await context.names(),
    version: tools.version,
  });
  const place = (request: Request): CookiePlace => ({
    secure: origins.isSecure(request),
    path: tools.mountOf(request),
  });
  return [
    route({
      method: "GET",
      path: "/api/session",
      access: "read",
      summary: "Who is signed in, and which parts there are.",
      answers: "Session",
      handle: async (call) => describe(whoOf(call), call.session),
    }),
    route({
      method: "POST",
      path: "/api/session",
      access: "open",
      summary: "Signs in with a token.",
      answers: "Session",
      body: { token: needed(text()) },
      handle: async ({ body, request }) => {
        const session = sessions.begin(tokens.admit(body.token, tools.callerOf(request), true));
        const cookie = sessions.cookie(session, request, place(request));
        return json(await describe(session, session), 200, { "set-cookie": cookie });
      },
    }),
    route({
      method: "DELETE",
      path: "/api/session",
      access: "open",
      summary: "Signs out.",
      answers: "SignedOut",
      handle: async ({ request }) => {
        const session = sessions.read(request, origins.isSecure(request));
        const cleared = { "set-cookie": sessions.clearing(request, place(request)) };
        try {
          if (session) await sessions.end(session);
        } catch (error) {
          context.amends.context.warn(
            { error: errorLabel(error) },
            "amends: a sign-out could not be recorded",
          );
          throw new Refused(503, NOT_RECORDED, cleared);
        }
        return json({}, 200, cleared);
      },
    }),
  ];
}
