import { render, type JSX } from "preact";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/sign-in.css";
import "./style/controls.css";
import "./style/parts.css";
import "./style/lists.css";
import "./style/values.css";
import "./style/overview.css";
import "./style/run-graph.css";
import "./style/timeline.css";
import "./style/overlays.css";
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

const root = document.querySelector("#app");
if (root) render(<App />, root);
void begin();
