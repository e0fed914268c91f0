/**
 * The entry. It imports nothing that could throw: the application is loaded by it, and when that fails the page says so
 * instead of staying blank.
 */
import "uplot/dist/uPlot.min.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/sign-in.css";
import "./style/controls.css";
import "./style/parts.css";
import "./style/lists.css";
import "./style/ticks.css";
import "./style/values.css";
import "./style/overview.css";
import "./style/run-graph.css";
import "./style/timeline.css";
import "./style/overlays.css";
import { ensureLanguage } from "./store/language.ts";

ensureLanguage();
try {
  const { start } = await import("./app.tsx");
  start();
} catch (error) {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : "unknown error";
  const note = document.querySelector("#start-error");
  if (note) note.textContent = reason;
  document.documentElement.dataset["start"] = "failed";
  throw error;
}
