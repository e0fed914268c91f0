/** How long to try, how often, and from where on there is no way back. */
import { setTimeout as pause } from "node:timers/promises";
import { Amends, saga, Terminal, type SagaRun } from "amends";
import { sqlite } from "amends/sqlite";
import { z } from "zod";

/** A throw is transient: the call is tried again on the schedule. The key is the same every time. */
const patient = saga("patient", z.object({})).step("flaky", {
  act: ({ attempt, key }) => {
    if (attempt < 3) throw new Error("not yet");
    return `attempt ${attempt}, key ${key}`;
  },
  retry: { attempts: 5, base: "20ms", cap: "1s" },
});

/** A timeout ends one try: its signal fires, and the next try begins. */
const timed = saga("timed", z.object({})).step("slow", {
  act: async ({ attempt, signal }) => {
    if (attempt === 1) await pause(60_000, undefined, { signal });
    return `attempt ${attempt}`;
  },
  timeout: "50ms",
  retry: { base: "20ms" },
});

/** A deadline ends all tries: the saga turns back. A saga as a whole may have one, too. */
const bounded = saga("bounded", z.object({}), { deadline: "1h" })
  .step("hold", { act: () => "held", compensate: () => console.log("  hold undone") })
  .step("wait", {
    act: () => {
      throw new Error("still closed");
    },
    retry: { attempts: 1_000, base: "20ms", factor: 1 },
    deadline: "150ms",
  });

/** Terminal: trying again cannot help, so it is not tried. */
const failing = saga("hopeless", z.object({})).step("call", {
  act: () => {
    throw new Terminal("account-closed");
  },
});

/** After the pivot the saga only goes forward: a throw is retried for as long as it takes. */
const pivoted = saga("pivoted", z.object({}), { retry: { attempts: 2, base: "10ms", cap: "20ms" } })
  .step("reserve", { act: () => "r-1", compensate: () => console.log("never called here") })
  .pivot("ship", { act: () => "p-1" })
  .step("email", {
    act: ({ attempt }) => {
      if (attempt < 6) throw new Error("mail server is away");
      return `attempt ${attempt}`;
    },
  });

const amends = new Amends({
  database: sqlite(process.argv[2] ?? ":memory:"),
  sagas: [patient, timed, bounded, failing, pivoted],
});
await amends.migrate();
await amends.worker().start();

async function show(name: string, run: SagaRun): Promise<void> {
  const outcome = await run.result();
  const what = outcome.status === "COMPLETED" ? JSON.stringify(outcome.results) : outcome.error?.label;
  console.log(`${name}: ${outcome.status} ${what}`);
}

await show("patient", await amends.start(patient, {}, { id: "p" }));
await show("timed", await amends.start(timed, {}));
await show("bounded", await amends.start(bounded, {}));
await show("hopeless", await amends.start(failing, {}));
await show("pivoted", await amends.start(pivoted, {}));
await amends.close();
