/** A worker that is killed in the middle of a call, and another worker that takes its order over. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LEASE_MS } from "../shop/shop.ts";
import { showSteps, type Scene, type Stage } from "../stage.ts";

export const killed: Scene = async (stage, number) => {
  const { screen, outside, shop } = stage;
  screen.scene(number, "An order whose worker is killed");
  screen.say(
    "A second process takes an order and calls the payment service. The money moves; before the answer is back, the process is killed (SIGKILL: it cannot clean up).",
  );
  screen.gap();
  const id = stage.nextId();
  const key = `${id}:charge:act`;
  screen.row(id);
  await runAndKill(stage, id, key);
  const run = await shop.amends.get(id);
  await waitForLease(stage, id);
  screen.event("plain", "this process has taken the order over");
  screen.event("plain", "charge is called again, with the same key");
  await showSteps(screen, run);

  const charge = outside.orders.charges.get(key);
  screen.gap();
  screen.say(
    `The payment service was called ${charge?.calls} times with the key ${key}, and moved money ${charge ? "once" : "never"}. An act may run more than once, always under the same key.`,
  );
  screen.link("see", stage.door.page(`sagas/${id}`));
};

async function runAndKill(
  { screen, folder, outside, shop, figures }: Stage,
  id: string,
  key: string,
): Promise<void> {
  // Compiled beside this file: Node.js 20 does not run TypeScript.
  const script = fileURLToPath(new URL("../doomed-worker.js", import.meta.url));
  const charged = outside.orders.withholdAnswer(key);
  // In a process group of its own: Ctrl-C is for the tour, which then takes care of the child.
  const child = fork(script, [folder, outside.url, id], {
    detached: true,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const gone = once(child, "exit");
  screen.event("plain", `runs in process ${child.pid}`);
  await Promise.race([charged, gone.then(() => Promise.reject(new Error("the second process ended early")))]);
  const view = await shop.amends.inspect(id);
  for (const { kind, name, status } of view?.timeline ?? []) {
    if (kind === "step" && status === "COMPLETED") screen.event("good", name);
  }
  screen.event("plain", "charge: the money has moved, the answer has not arrived");
  await pause(400);
  child.kill("SIGKILL");
  await gone;
  figures.crashes += 1;
  screen.event("bad", `process ${child.pid} was killed`);
}

/** The order belongs to the dead process until its lease expires. Then the first worker that polls claims it. */
async function waitForLease({ screen, shop }: Stage, id: string): Promise<void> {
  const before = (await shop.amends.inspect(id))?.owner;
  for (let look = 0; ; look++) {
    const view = await shop.amends.inspect(id);
    if (view?.owner !== before) return;
    const leftMs = (view?.dueAt?.getTime() ?? 0) - Date.now();
    screen.countdown(`the dead worker's lease expires in ${LEASE_MS / 1_000} s`, leftMs, look === 0);
    await pause(100);
  }
}
