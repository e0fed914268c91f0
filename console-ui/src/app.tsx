/** The whole application, below `#app`. */
import { render, type JSX } from "preact";
import { SignIn } from "./pages/sign-in.tsx";
import { Shell } from "./parts/shell.tsx";
import { Tip } from "./parts/tip.tsx";
import { Toasts } from "./parts/toasts.tsx";
import { sessionLost } from "./store/api.ts";
import { startLive, stopLive } from "./store/live.ts";
import { begin, sessionState } from "./store/session.ts";
import { useEffect } from "preact/hooks";

function App(): JSX.Element | null {
  const { value } = sessionState;
  const inside = value.state === "in" && !sessionLost.value;
  useEffect(() => {
    if (!inside) return undefined;
    startLive();
    return stopLive;
  }, [inside]);
  if (value.state === "loading") return null;
  return (
    <>
      {inside ? <Shell /> : <SignIn />}
      <Toasts />
      <Tip />
    </>
  );
}

export function start(): void {
  const root = document.querySelector("#app");
  if (!root) return;
  // What index.html says until the application is there.
  root.replaceChildren();
  render(<App />, root);
  void begin();
}
