/** Ends the session of this browser. An application's own sign-in is ended in the application. */
import type { JSX } from "preact";
import { sessionState, signOut } from "../store/session.ts";

export function SignOut(): JSX.Element | null {
  const { value } = sessionState;
  if (value.state !== "in" || value.session.expiresAt === null) return null;
  return (
    <button type="button" class="json-more" onClick={() => void signOut()}>
      Sign out
    </button>
  );
}
