/** Sign-in with a token. The address that the server prints carries one, so that this page is rarely seen. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { begin, sessionState, signIn } from "../store/session.ts";
import { Icon, Mark } from "../parts/icon.tsx";

export function SignIn(): JSX.Element {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const { value } = sessionState;
  const failure = value.state === "out" ? value.failure : undefined;
  const silent = failure?.status === 0;
  const submit = async (): Promise<void> => {
    setBusy(true);
    await (silent && token.trim() === "" ? begin() : signIn(token.trim()));
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <div>
        <span class="brand">
          <Mark size={30} />
          Amends
        </span>
        <form
          class="card"
          onSubmit={(event) => {
            event.preventDefault();
            if (!busy) void submit();
          }}
        >
          <h1>Sign in to the console</h1>
          <p>
            Open the address that <code>amends console</code> printed, or paste its token. An address of{" "}
            <code>createConsole().listen()</code> works for one browser, within 15 minutes: start the server
            again, or call <code>console.invite()</code>, for a new one.
          </p>
          <label class="label">
            Token
            <input
              class="field mono"
              type="password"
              autocomplete="off"
              autofocus
              required={!silent}
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </label>
          {failure && (
            <p class="form-error" role="alert">
              <Icon name={silent ? "offline" : "alert"} />
              <span>{failure.message}</span>
            </p>
          )}
          <button type="submit" class="btn" data-kind="primary" disabled={busy} aria-busy={busy}>
            {silent && token.trim() === "" ? "Try again" : "Sign in"}
          </button>
        </form>
      </div>
    </main>
  );
}
