// A receiver of webhooks in a process of its own (receiver.mjs).
import { fork } from "node:child_process";
import { Agent } from "undici";

export function startReceiver() {
  const child = fork(new URL("./receiver.mjs", import.meta.url), {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    execArgv: [],
  });
  const agent = new Agent();
  return new Promise((resolve) =>
    child.once("message", ({ port }) => {
      const origin = `http://127.0.0.1:${port}`;
      resolve({
        port,
        origin,
        /** How many requests it has answered: counting rows instead would be work of the database that nobody else has. */
        async answered() {
          const answer = await agent.request({ origin, path: "/count", method: "GET" });
          return Number(await answer.body.text());
        },
        stop: () => child.kill(),
      });
    }),
  );
}
