/** Sign-outs as operator actions on record: every process sees them, and they survive a restart. */
import { hasAction } from "../../audit/action-queries.ts";
import type { ConsoleContext } from "../context.ts";
import type { SessionStore } from "./sessions.ts";
import type { Tokens } from "./tokens.ts";

const ACTION = "sign-out";
const KIND = "session";

export function sessionStore({ actions, reader }: ConsoleContext, tokens: Tokens): SessionStore {
  return {
    operatorOf: (tokenId) => tokens.operatorOf(tokenId),
    isEnded: async ({ id }) => {
      const found = await reader.query(hasAction(reader.dialect, ACTION, { kind: KIND, id }));
      return found.length > 0;
    },
    recordEnd: async ({ id, name }) =>
      actions.around(
        { by: name, action: ACTION, target: { kind: KIND, id }, reason: "The operator signed out." },
        async () => undefined,
      ),
  };
}
