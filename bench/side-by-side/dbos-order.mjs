// The order process for DBOS: steps with retries, and a list of compensations that are run in reverse where something fails. With
// COMPENSATION=before, a compensation is put on the list before its step is called instead of after it.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { call } from "./call.mjs";

const [, , url, id, mode] = process.argv;
const isEarly = process.env["COMPENSATION"] === "before";
const retries = { retriesAllowed: true, maxAttempts: 3, intervalSeconds: 0.1, backoffRate: 1 };

/** One step and its compensation, under keys that are the same at every recovery. */
async function step(name, act, undo, compensations) {
  const key = `${DBOS.workflowID}:${name}`;
  const compensate = () => DBOS.runStep(() => call(undo, key), { name: `undo ${name}`, ...retries });
  if (isEarly) compensations.unshift(compensate);
  await DBOS.runStep(() => call(act, key), { name, ...retries });
  if (!isEarly) compensations.unshift(compensate);
}

/** One compensation that fails does not stop the others. */
async function takeBack(compensations) {
  for (const compensate of compensations) await compensate().catch(() => undefined);
}

const shipOrder = DBOS.registerWorkflow(
  async () => {
    const compensations = [];
    try {
      await step("label", "label", "cancel-label", compensations);
      await step("pickup", "pickup", "cancel-pickup", compensations);
    } catch (error) {
      await takeBack(compensations);
      throw error;
    }
  },
  { name: "ship-order" },
);

const placeOrder = DBOS.registerWorkflow(
  async ({ items }) => {
    const compensations = [];
    try {
      for (const sku of items) await step(`reserve ${sku}`, "reserve", "release", compensations);
      const decision = await DBOS.recv("decision", 60);
      if (decision !== "approved") throw new Error("not approved");
      await step("invoice", "invoice", "void-invoice", compensations);
      await step("charge", "charge", "refund", compensations);
      const shipping = await DBOS.startWorkflow(shipOrder, { workflowID: `${DBOS.workflowID}-ship` })();
      await shipping.getResult();
    } catch (error) {
      await takeBack(compensations);
      throw error;
    }
  },
  { name: "place-order" },
);

DBOS.setConfig({ name: "order", systemDatabaseUrl: url, logLevel: "error" });
await DBOS.launch();
if (mode === "start") {
  await DBOS.startWorkflow(placeOrder, { workflowID: id })({ items: ["lamp", "bulb"] });
  await DBOS.send(id, "approved", "decision", `approval of ${id}`);
}
if (mode === "cancel") await DBOS.cancelWorkflow(id);
const outcome = await DBOS.retrieveWorkflow(id)
  .getResult()
  .then(
    () => "SUCCESS",
    () => "",
  );
const status = await DBOS.getWorkflowStatus(id);
process.stdout.write(`${outcome || status?.status}\n`);
await DBOS.shutdown();
process.exit(0);
