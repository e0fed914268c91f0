/** A worker that is killed in the middle of a call, and another that takes its order over. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LEASE_MS } from "../place-order.ts";
import { showSteps, type Stage } from "../stage.ts";

/** What the child says over its channel. */
export type Message = { readonly kind: "step"; readonly name: string } | { readonly kind: "charged" };

export async function killed(stage: Stage): Promise<void> {
  const { screen, shop, amends } = stage;
  screen.scene(3, "An order whose worker is killed");
  screen.say(
    "A second process takes an order and calls the payment service. The money moves; before the answer is back, the process is killed (SIGKILL: it cannot tidy up).",
  );
  screen.gap();
  const id = stage.nextId();
  screen.row(id);
  await runAndKill(stage, id);

  const run = await amends.get(id);
  await waitForLease(stage, id);
  screen.event("plain", "this process has taken the order over");
  screen.event("plain", "charge is called again, with the same key");
  await showSteps(screen, run);

  const key = `${id}:charge:act`;
  const world = shop.read();
  screen.gap();
  screen.say(
    `The payment service was called ${world.chargeCalls[key]} times with the key ${key}, and moved money ${world.charges[key] ? "once" : "never"}. That is the deal: an act may run more than once, always under the same key.`,
  );
}

async function runAndKill({ screen, folder }: Stage, id: string): Promise<void> {
  // Compiled beside this file: Node.js 20 does not run TypeScript.
  const script = fileURLToPath(new URL("../doomed-worker.js", import.meta.url));
  // In a process group of its own: Ctrl-C is for the tour, which then takes care of the child.
  const child = fork(script, [folder, id], {
    detached: true,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const gone = once(child, "exit");
  screen.mark("plain", `runs in process ${child.pid}`);
  await untilCharged(child, (name) => screen.event("good", name));
  screen.event("plain", "charge: the money has moved, the answer has not arrived");
  await pause(400);
  child.kill("SIGKILL");
  await gone;
  screen.event("bad", `process ${child.pid} was killed`);
}

function untilCharged(child: ChildProcess, onStep: (name: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on("message", (message: Message) => {
      if (message.kind === "step") onStep(message.name);
      else resolve();
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the second process ended early (code ${code})`)));
  });
}

/** The order belongs to the dead process until its lease lapses. Then whoever looks first has it. */
async function waitForLease({ screen, amends }: Stage, id: string): Promise<void> {
  const before = (await amends.inspect(id))?.owner;
  for (let look = 0; ; look++) {
    const view = await amends.inspect(id);
    if (view?.owner !== before) return;
    const leftMs = (view?.dueAt?.getTime() ?? 0) - Date.now();
    screen.countdown(
      `the order is still its own, until its lease of ${LEASE_MS / 1_000} s ends`,
      leftMs,
      look === 0,
    );
    await pause(100);
  }
}
