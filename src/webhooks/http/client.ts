/**
 * Loads undici's Agent. Bun replaces the package with a stub that cannot dispatch; the package itself also runs on Bun,
 * so its file is loaded instead.
 */
import { createRequire } from "node:module";
import type { Agent } from "undici";
import { AmendsError } from "../../core/errors.ts";

export type AgentClass = typeof Agent;

const OWN_FILE = "undici/lib/dispatcher/agent.js";

export async function loadAgent(
  load: () => Promise<{ readonly Agent?: unknown }> = () => import("undici"),
  loadFile: (file: string) => unknown = createRequire(import.meta.url),
): Promise<AgentClass> {
  const { Agent: loaded } = await load();
  if (canDispatch(loaded)) return loaded;
  try {
    const file = loadFile(OWN_FILE);
    if (canDispatch(file)) return file;
  } catch {
    // Reported below.
  }
  throw new AmendsError(
    "NOT_SUPPORTED",
    "Webhooks cannot be sent here: this runtime replaces the package undici with one that cannot dispatch requests. Run the worker on Node.js, or pass your own `sender` in `webhooks`.",
  );
}

function canDispatch(agent: unknown): agent is AgentClass {
  if (typeof agent !== "function") return false;
  const { prototype } = agent as { readonly prototype: { readonly dispatch?: unknown } | undefined };
  return typeof prototype?.dispatch === "function";
}
